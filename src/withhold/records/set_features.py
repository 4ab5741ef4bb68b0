"""A set of r records of one person in fixed features that do not depend on the order of records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.record_sets import Rows

FloatArray = npt.NDArray[np.float32]
_PAIRED = 8  # features whose covariances within a set are kept: 28 pairs
_VALUES = 2_000_000  # numbers of one block


def describe_sets(x: FloatArray, same: Rows, scores: FloatArray, sets: Rows) -> FloatArray:
    """Features (b, f) of sets (b, r) of records x (n, d).

    same (n,): equal numbers for equal records. scores (n, c): what one record tells. The features
    of a set: mean, standard deviation, minimum and maximum of every column of x; covariances of
    the first columns; mean and standard deviation of the scores; mean, least and greatest distance
    of two records; the share of distinct records and of pairs of equal ones.
    """
    r = sets.shape[1]
    block = max(_VALUES // (r * max(r, x.shape[1])), 1)
    pieces = [sets[start : start + block] for start in range(0, len(sets), block)]
    return np.concatenate([_described(x[p], same[p], scores[p]) for p in pieces])


def distinct_rows(x: npt.NDArray[np.float32]) -> Rows:
    """Equal numbers (n,) for equal rows of x (n, d)."""
    whole = np.ascontiguousarray(x + 0.0)  # -0.0 equals 0.0
    keys = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1])))[:, 0]
    return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _described(v: FloatArray, same: Rows, scores: FloatArray) -> FloatArray:
    """The features (b, f) of values v (b, r, d), numbers same (b, r) and scores (b, r, c)."""
    r = v.shape[1]
    one, other = np.triu_indices(r, 1)
    mean = v.mean(axis=1)
    some = (v - mean[:, None])[:, :, :_PAIRED]
    left, right = np.triu_indices(some.shape[2], 1)
    together = np.matmul(some.transpose(0, 2, 1), some)[:, left, right] / r
    square = np.square(v).sum(axis=2)
    apart = square[:, :, None] + square[:, None] - 2 * np.matmul(v, v.transpose(0, 2, 1))
    far = np.sqrt(np.maximum(apart[:, one, other], 0.0))
    number = np.sort(same, axis=1)
    distinct = 1 + (number[:, 1:] != number[:, :-1]).sum(axis=1)
    equal = (same[:, one] == same[:, other]).mean(axis=1)
    columns = [mean, v.std(axis=1), v.min(axis=1), v.max(axis=1), together]
    columns += [scores.mean(axis=1), scores.std(axis=1)]
    columns += [np.stack([far.mean(axis=1), far.min(axis=1), far.max(axis=1)], axis=1)]
    columns += [np.stack([distinct / r, equal], axis=1)]
    return np.concatenate(columns, axis=1).astype(np.float32)
