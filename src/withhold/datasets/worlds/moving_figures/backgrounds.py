"""Backgrounds of moving figures: eight patterns of two shades."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.canvas import Floats
from withhold.datasets.worlds.moving_figures.figure_attributes import VALUES

PERIOD = 0.5  # of the patterns, in half widths of the picture
DARKER = 0.72  # the second shade, as a share of the first


def draw_backgrounds(
    background: npt.NDArray[np.int64], ground: Floats, offset: Floats, side: int
) -> Floats:
    """Pixels (3, b, side, side) in 0..1.

    `background` (b,) has numbers into the values, `ground` (3, b) the lighter shade, and `offset`
    (2, b) moves the pattern, in periods.
    """
    centres = ((np.arange(side) + 0.5) * (2 / side) - 1).astype(np.float32)
    turn = np.float32(2 * np.pi)
    x = turn * (centres[None, None, :] / np.float32(PERIOD) + offset[0][:, None, None])
    y = turn * (centres[None, :, None] / np.float32(PERIOD) + offset[1][:, None, None])
    share = np.zeros((len(background), side, side), np.float32)
    for code, name in enumerate(VALUES["background"]):
        which = background == code
        share[which] = _wave(name, x[which], y[which], centres)
    factor = 1 - (1 - np.float32(DARKER)) * share
    return np.asarray(ground[:, :, None, None] * factor, np.float32)


def _wave(name: str, x: Floats, y: Floats, centres: Floats) -> Floats:
    """How much of the darker shade each pixel has, (b, side, side); x and y are in radians."""
    if name == "plain":
        return 0 * (x + y)
    if name == "rows":
        return _soft(3 * np.sin(y) + 0 * x)
    if name == "columns":
        return _soft(3 * np.sin(x) + 0 * y)
    if name == "checks":
        return _soft(6 * np.sin(x) * np.sin(y))
    if name == "diagonals":
        return _soft(3 * np.sin(x + y))
    if name == "dots":
        return _soft(3 * (np.sin(x) + np.sin(y) - 1))
    if name == "rings":
        middle = [values.mean(axis=axis, keepdims=True) for values, axis in ((x, 2), (y, 1))]
        return _soft(3 * np.sin(np.hypot(x - middle[0], y - middle[1])))
    # The floor begins a little above the feet.
    return _soft(8 * (centres[None, :, None] - 0.5 - 0.01 * y[:, :1]) + 0 * x)


def _soft(wave: Floats) -> Floats:
    """0 where the wave is low and 1 where it is high, with soft edges."""
    return np.asarray(np.clip(wave + np.float32(0.5), 0, 1), np.float32)
