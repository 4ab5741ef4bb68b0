"""One whole number for each combination of several columns of whole numbers."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def combined(columns: IntArray) -> IntArray:
    """The place of each row of (n, k) among the distinct rows in order, (n,).

    The same as the inverse of `np.unique(columns, axis=0)`. Sorting rows takes minutes where there
    are millions, so their columns become one number where that fits into 64 bits.
    """
    if not len(columns):
        return np.empty(0, np.int64)
    low = columns.min(axis=0)
    sizes = [int(v) for v in columns.max(axis=0) - low + 1]
    if prod(sizes) >= 2**62:
        return np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)
    key = np.zeros(len(columns), np.int64)
    for i, size in enumerate(sizes):
        key = key * size + (columns[:, i] - low[i])
    most = prod(sizes)
    if most > max(len(key), 1000):
        return np.unique(key, return_inverse=True)[1].reshape(-1)
    place: IntArray = np.cumsum(np.bincount(key, minlength=most) > 0) - 1
    return place[key]
