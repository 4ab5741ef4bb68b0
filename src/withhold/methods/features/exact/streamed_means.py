"""Code vectors of records that are read block by block: `codebook.robust` in two passes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.core.progress import Stage
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.robust import MOST, fair_weights, limits
from withhold.methods.modifier import FloatArray
from withhold.records.streamed import StreamedDataset

_NUMBERS = 2**25  # in the means of the people who determine the limits
_FEWEST = 100  # people of a code who do, times `least`, over 5


def streamed_means(
    dataset: StreamedDataset,
    drawn: IntArray,
    people: IntArray,
    *,
    codes: int,
    least: int,
    bar: Stage,
) -> FloatArray:
    """The mean of the records of each code (N, d), as `robust_means` computes it.

    The limits of a code are those of some of its people: the first pass sums their records, the
    second one sums all records, each value clipped to the limits of its code. A value is still
    clipped to a range that `least` people share, and weighs as `fair_weights` says.
    """
    d = dataset.dimension
    several = np.int64(people.max(initial=0) + 1)
    most = int(np.clip(_NUMBERS // (codes * d), least * _FEWEST // 5, MOST))
    chosen = _chosen(drawn, people, several, codes, most)
    sums, count = np.zeros((len(chosen), d), np.float32), np.zeros(len(chosen), np.int64)
    total = np.zeros(d)
    for rows, x in dataset.blocks():
        pair = drawn[rows] * several + people[rows]
        place = np.minimum(np.searchsorted(chosen, pair), len(chosen) - 1)
        mine = np.flatnonzero(chosen[place] == pair)
        np.add.at(sums, place[mine], x[mine])
        np.add.at(count, place[mine], 1)
        total += x.sum(axis=0, dtype=np.float64)
    bar.advance()
    means: FloatArray = sums / np.maximum(count, 1).astype(np.float32)[:, None]
    low, high = np.empty((codes, d), np.float32), np.empty((codes, d), np.float32)
    starts = np.searchsorted(chosen, np.arange(codes + 1) * several)
    for j in np.flatnonzero(np.diff(starts)):
        low[j], high[j] = limits(means[starts[j] : starts[j + 1]], least)
    del means, sums
    heavy, lighter = _heavy(drawn, people, several, codes, least)
    clipped, size = np.zeros((codes, d)), np.zeros(codes)
    for rows, x in dataset.blocks():
        own = drawn[rows]
        order = np.argsort(own, kind="stable")
        here, first = np.unique(own[order], return_index=True)
        values = np.clip(x[order], low[own[order]], high[own[order]]).astype(np.float64)
        weights = np.ones(len(own))
        if len(heavy):
            pair = own[order] * several + people[rows][order]
            place = np.minimum(np.searchsorted(heavy, pair), len(heavy) - 1)
            weights = np.where(heavy[place] == pair, lighter[place], 1.0)
            values *= weights[:, None]
        clipped[here] += np.add.reduceat(values, first, axis=0)
        size += np.bincount(own[order], weights, minlength=codes)
    bar.advance()
    out = np.where(
        size[:, None] > 0, clipped / np.where(size > 0, size, 1)[:, None], total / len(drawn)
    )
    return out.astype(np.float32)


def _chosen(
    drawn: IntArray, people: IntArray, several: np.int64, codes: int, most: int
) -> IntArray:
    """Pairs code * several + person, sorted: about `most` people of each code, at even steps."""
    pairs = np.unique(drawn * several + people)
    starts = np.searchsorted(pairs, np.arange(codes + 1) * several)
    step = np.maximum(-(-np.diff(starts) // most), 1)
    rank = np.arange(len(pairs)) - np.repeat(starts[:-1], np.diff(starts))
    found: IntArray = pairs[rank % np.repeat(step, np.diff(starts)) == 0]
    return found


def _heavy(
    drawn: IntArray, people: IntArray, several: np.int64, codes: int, least: int
) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Pairs code * several + person, sorted, whose records weigh less than 1, and their weights."""
    pairs, count = np.unique(drawn * several + people, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(codes + 1) * several)
    weights = np.ones(len(pairs))
    for j in range(codes):
        mine = slice(starts[j], starts[j + 1])
        if starts[j] < starts[j + 1]:
            weights[mine] = fair_weights(count[mine], least)
    found = weights < 1
    return pairs[found], weights[found]
