"""Code vectors: means over many people that no single person can move far."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.methods.channel import IntArray
from withhold.methods.modifier import FloatArray

MOST = 4000  # people of a code that determine its limits


def robust_means(
    x: FloatArray, drawn: IntArray, people: IntArray, *, codes: int, least: int
) -> FloatArray:
    """The mean of the records of each code, with each value clipped to the range of `least` people.

    Nobody with very many records determines a code: see `fair_weights`.

    x (n, d), drawn (n,) and people (n,) give the codes (N, d). The limits of a feature are the
    `least`-th smallest and the `least`-th largest mean of the people of the code. So an extreme
    value affects a code only if `least` people have it. With fewer than 2 `least` - 1 people both
    limits are their median. A code without records is the mean of all records.
    """
    out = np.empty((codes, x.shape[1]), np.float32)
    out[:] = x.mean(axis=0, dtype=np.float64)
    order = np.argsort(drawn, kind="stable")
    starts = np.searchsorted(drawn[order], np.arange(codes + 1))
    for j in range(codes):
        rows = order[starts[j] : starts[j + 1]]
        if len(rows):
            _, member, count = np.unique(people[rows], return_inverse=True, return_counts=True)
            member = member.reshape(-1)
            low, high = limits(_means(x[rows], member, count), least)
            weights = fair_weights(count, least)[member]
            out[j] = weights @ np.clip(x[rows], low, high).astype(np.float64) / weights.sum()
    return out


def fair_weights(count: IntArray, least: int) -> npt.NDArray[np.float64]:
    """The weight of a record of each person with `count` records in a code: (people,), at most 1.

    A person weighs min(count, c), so that the mean is not that of one person with very many
    records. c is the largest number that is at most 1 / `least` of the total (fewer than `least`
    people weigh the same), and at most `least` times the records of the middle person.
    """
    if least == 1:
        return np.ones(len(count))
    ordered, rest = np.sort(count)[::-1].astype(np.float64), float(count.sum())
    c = ordered[-1]
    for k in range(min(least, len(count))):  # the k people with the most records weigh c each
        share = rest / (least - k)
        if ordered[k] <= share:
            c = share
            break
        rest -= ordered[k]
    found: npt.NDArray[np.float64] = np.minimum(1.0, min(c, least * np.median(count)) / count)
    return found


def _means(x: FloatArray, member: IntArray, count: IntArray) -> FloatArray:
    """The mean of each person's records: (n, d), (n,), (people,) -> (people, d)."""
    if len(count) == len(x):
        return x
    means = sums_by(member, x, len(count)) / count[:, None]
    return means.astype(np.float32)


def sums_by(
    group: IntArray, x: npt.NDArray[np.floating[Any]], groups: int
) -> npt.NDArray[np.float64]:
    """The sum of the rows of each group in double precision: (n,), (n, d) -> (groups, d)."""
    total = np.zeros((groups, x.shape[1]))
    np.add.at(total, group, x)
    return total


def limits(means: FloatArray, least: int) -> tuple[FloatArray, FloatArray]:
    """The `least`-th smallest and the `least`-th largest of each feature."""
    step = -(-len(means) // MOST)
    some = means[::step]
    n = len(some)
    if n < 2 * least - 1:
        middle = np.median(some, axis=0)
        return middle, middle
    ordered = np.partition(some, (least - 1, n - least), axis=0)
    return ordered[least - 1], ordered[n - least]
