"""Backgrounds of moving figures: eight patterns of two shades."""

from __future__ import annotations

import numpy as np

from withhold.datasets.worlds.canvas import Floats
from withhold.datasets.worlds.moving_figures.attributes import VALUES

PERIOD = 0.5  # of the patterns, in half widths of the picture
DARKER = 0.72  # the second shade, as a share of the first


def draw_backgrounds(background: Floats, ground: Floats, offset: Floats, side: int) -> Floats:
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
    """How much of the darker shade each pixel has, (b, side, side)."""
    if name == "plain":
        return np.zeros_like(x * y)
    if name == "floor":
        line = 0.5 + 0.01 * y[:, :1]  # little above the feet
        return _soft((centres[None, :, None] - line) * 8 + 0 * x)
    if name == "rings":
        radius = np.hypot(x - x.mean(axis=2, keepdims=True), y - y.mean(axis=1, keepdims=True))
        return _soft(3 * np.sin(radius))
    waves = {
        "rows": lambda: np.sin(y) + 0 * x,
        "columns": lambda: np.sin(x) + 0 * y,
        "checks": lambda: 2 * np.sin(x) * np.sin(y),
        "diagonals": lambda: np.sin(x + y),
        "dots": lambda: np.sin(x) + np.sin(y) - 1,
    }
    return _soft(3 * waves[name]())


def _soft(wave: Floats) -> Floats:
    """0 where the wave is low and 1 where it is high, with soft edges."""
    return np.clip(wave + np.float32(0.5), 0, 1)
