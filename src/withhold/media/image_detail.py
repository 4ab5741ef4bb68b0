"""What a picture shows only at its full size, as maps as small as the reduced picture.

Networks that attack images read them at 32 by 32 pixels. A pattern of single pixels, a thin line
or the lowest bit of each value is gone at that size, and a release could reveal a class by it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.media.decode.pictures import resized
from withhold.records.samples import ByteArray

COLOURS = 3
MAPS = 6  # the middle in three colours, mean and largest difference, lowest bits

FloatArray = npt.NDArray[np.float32]


def seen_small(pixels: ByteArray, side: int) -> ByteArray:
    """(h, w, 3) to (COLOURS + MAPS, side, side): the reduced picture, then its detail."""
    small = resized(pixels, side, side)
    return np.concatenate([small.transpose(2, 0, 1), detail(pixels, small)])


def detail(pixels: ByteArray, small: ByteArray) -> ByteArray:
    """Maps (MAPS, side, side) of a picture (h, w, 3) and its reduced form (side, side, 3).

    The first three are the middle of the picture at its full size. The others divide the picture
    into side x side cells. Where r is the picture less its reduced form, enlarged again: the root
    mean square of r in each cell, on a scale of logarithms; the largest |r|; and the share of
    values that are odd.
    """
    height, width, side = *pixels.shape[:2], len(small)
    lost = pixels.astype(np.float32) - resized(small, height, width)
    rms = np.sqrt(_mean(np.square(lost).mean(axis=2), side))
    largest = _by_cell(np.maximum, np.abs(lost).max(axis=2), side)
    odd = _mean((pixels & 1).mean(axis=2, dtype=np.float32), side)
    maps = [255 * np.log1p(rms) / np.log(256), largest, 255 * odd]
    return np.concatenate(
        [
            _middle(pixels, side).transpose(2, 0, 1),
            np.rint(np.stack(maps)).clip(0, 255).astype(np.uint8),
        ]
    )


def _middle(pixels: ByteArray, side: int) -> ByteArray:
    """The middle (side, side, 3); the border of a smaller picture is repeated."""
    rows, columns = (np.arange(side) + (size - side) // 2 for size in pixels.shape[:2])
    found: ByteArray = pixels[rows.clip(0, len(pixels) - 1)][
        :, columns.clip(0, pixels.shape[1] - 1)
    ]
    return found


def _mean(values: FloatArray, side: int) -> FloatArray:
    """The mean of each cell of values (h, w): (side, side)."""
    found: FloatArray = _by_cell(np.add, values, side) / _by_cell(
        np.add, np.ones_like(values), side
    )
    return found


def _by_cell(join: np.ufunc, values: FloatArray, side: int) -> FloatArray:
    """The values (h, w) of each cell joined: (side, side). A smaller picture repeats its cells."""
    for axis, size in enumerate(values.shape):
        values = join.reduceat(values, np.arange(side) * size // side, axis=axis)
    return values
