"""Small clips whose class shows in single frames, or only in the order of frames."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from audit.pictures import Pixels, bars

Classes = npt.NDArray[np.int64]


def bar_clips(n: int, frames: int = 8, side: int = 16, seed: int = 0) -> tuple[Pixels, Classes]:
    """The direction of a bar is the class; its place is another in each frame: (n, t, h, w, 3)."""
    images, _ = bars(n * frames, side, seed)
    up = np.random.default_rng([seed, 0xBA3]).integers(0, 2, n)
    is_up = bars(n * frames, side, seed)[1]
    images[is_up == 0] = images[is_up == 0].transpose(0, 2, 1, 3)  # all bars upright
    clips = images.reshape(n, frames, side, side, 3)
    clips[up == 0] = clips[up == 0].transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(clips), up


def drifting(n: int, frames: int = 8, side: int = 16, seed: int = 0) -> tuple[Pixels, Classes]:
    """A square that moves to the right or to the left, on a torus; the class is the direction.

    Every single frame is distributed alike in both classes.
    """
    rng = np.random.default_rng([seed, 0xD21F])
    clips = rng.integers(90, 110, (n, frames, side, side, 3), dtype=np.uint8)
    right = rng.integers(0, 2, n)
    for clip, way in zip(clips, 2 * right - 1, strict=True):
        row, column = rng.integers(0, side, 2)
        for t, frame in enumerate(clip):
            rows, columns = (
                (row + np.arange(4)) % side,
                (column + 2 * way * t + np.arange(4)) % side,
            )
            frame[np.ix_(rows, columns)] = 220
    return clips, right
