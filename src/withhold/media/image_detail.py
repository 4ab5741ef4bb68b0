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
MAPS = 12  # the middle, strength and turns of each colour; the largest difference; two bits

FloatArray = npt.NDArray[np.float32]


def seen_small(pixels: ByteArray, side: int) -> ByteArray:
    """(h, w, 3) to (COLOURS + MAPS, side, side): the reduced picture, then its detail."""
    small = resized(pixels, side, side)
    return np.concatenate([small.transpose(2, 0, 1), detail(pixels, small)])


def detail(pixels: ByteArray, small: ByteArray) -> ByteArray:
    """Maps (MAPS, side, side) of a picture (h, w, 3) and its reduced form (side, side, 3).

    The first three are the middle of the picture at its full size. The others divide the picture
    into side x side cells. Where r is the picture less its reduced form, enlarged again: the root
    mean square of r in each cell, on a scale of logarithms, and the mean of r with a sign that
    changes from pixel to pixel, for each colour; the largest |r| of all colours; and how often the
    two lowest bits are set.
    """
    height, width, side = *pixels.shape[:2], len(small)
    enlarged = resized(small, height, width)
    sign = ((np.arange(height)[:, None] + np.arange(width)) % 2 * 2 - 1).astype(np.float32)
    strengths, turns, largest = [], [], np.zeros((side, side), np.float32)
    for colour in range(COLOURS):  # one by one, for the memory of a large picture
        lost = pixels[..., colour].astype(np.float32)
        lost -= enlarged[..., colour]
        turns.append(128 + 4 * _mean(sign * lost, side))
        np.abs(lost, out=lost)
        largest = np.maximum(largest, _by_cell(np.maximum, lost, side))
        np.square(lost, out=lost)
        strengths.append(255 * np.log1p(np.sqrt(_mean(lost, side))) / np.log(256))
    bits = [
        255 * _mean((pixels & bit).astype(bool).mean(axis=2, dtype=np.float32), side)
        for bit in (1, 2)
    ]
    maps = np.stack([*strengths, *turns, largest, *bits])
    return np.concatenate(
        [
            _middle(pixels, side).transpose(2, 0, 1),
            np.rint(maps).clip(0, 255).astype(np.uint8),
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
    sizes = [
        np.maximum(np.diff(np.arange(side + 1) * size // side), 1).astype(np.float32)
        for size in values.shape
    ]
    found: FloatArray = _by_cell(np.add, values, side) / np.outer(*sizes)
    return found


def _by_cell(join: np.ufunc, values: FloatArray, side: int) -> FloatArray:
    """The values (h, w) of each cell joined: (side, side). A smaller picture repeats its cells."""
    for axis, size in enumerate(values.shape):
        values = join.reduceat(values, np.arange(side) * size // side, axis=axis)
    return values
