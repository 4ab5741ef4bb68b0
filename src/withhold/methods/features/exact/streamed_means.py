"""Code vectors of records that are read block by block: `codebook.robust` in two passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.core.progress import Stage
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.robust import MOST, fair_weights, limits
from withhold.methods.features.exact.passes import RecordBlock, passed
from withhold.methods.modifier import FloatArray
from withhold.records.streamed import StreamedDataset

FloatArray64 = npt.NDArray[np.float64]
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

    def among_chosen(rows: slice) -> IntArray:
        return _place(chosen, drawn[rows] * several + people[rows])

    sums, count = np.zeros((len(chosen), d), np.float32), np.zeros(len(chosen), np.int64)
    total = np.zeros(d)
    for _, (here, own, records, every) in passed(_SumsOfPeople(), dataset, among_chosen):
        sums[here] += own
        count[here] += records
        total += every
    bar.advance()
    means: FloatArray = sums / np.maximum(count, 1).astype(np.float32)[:, None]
    low, high = np.empty((codes, d), np.float32), np.empty((codes, d), np.float32)
    starts = np.searchsorted(chosen, np.arange(codes + 1) * several)
    for j in np.flatnonzero(np.diff(starts)):
        low[j], high[j] = limits(means[starts[j] : starts[j + 1]], least)
    del means, sums
    heavy, lighter = _heavy(drawn, people, several, codes, least)

    def weighed(rows: slice) -> tuple[IntArray, FloatArray64 | None]:
        if not len(heavy):
            return drawn[rows], None
        place = _place(heavy, drawn[rows] * several + people[rows])
        return drawn[rows], np.where(place >= 0, lighter[place], 1.0)

    clipped, size = np.zeros((codes, d)), np.zeros(codes)
    for _, (here, values, weights) in passed(_ClippedSums(low, high), dataset, weighed):
        clipped[here] += values
        size[here] += weights
    bar.advance()
    out = np.where(
        size[:, None] > 0, clipped / np.where(size > 0, size, 1)[:, None], total / len(drawn)
    )
    return out.astype(np.float32)


@dataclass(frozen=True)
class _SumsOfPeople:
    """Sums over the records of some people, and over all records of a block."""

    def __call__(
        self, block: RecordBlock[IntArray]
    ) -> tuple[IntArray, FloatArray, IntArray, FloatArray64]:
        """The places of the people (m,), their sums (m, d) and records (m,), and the sum of all.

        block.own: the place of each record's person, -1 for others.
        """
        mine = np.flatnonzero(block.own >= 0)
        here, member = np.unique(block.own[mine], return_inverse=True)
        sums = np.zeros((len(here), block.x.shape[1]), np.float32)
        np.add.at(sums, member.reshape(-1), block.x[mine])
        records = np.bincount(member.reshape(-1), minlength=len(here))
        return here, sums, records, block.x.sum(axis=0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _ClippedSums:
    """Sums by code of records clipped to the limits of their codes, low and high (N, d)."""

    low: FloatArray
    high: FloatArray

    def __call__(
        self, block: RecordBlock[tuple[IntArray, FloatArray64 | None]]
    ) -> tuple[IntArray, FloatArray64, FloatArray64]:
        """The codes that occur (m,), their sums (m, d) and their weights (m,).

        block.own: the code of each record, and its weight if some weigh less than 1.
        """
        code, weight = block.own
        order = np.argsort(code, kind="stable")
        own = code[order]
        here, first = np.unique(own, return_index=True)
        values = np.clip(block.x[order], self.low[own], self.high[own]).astype(np.float64)
        weights = np.ones(len(own))
        if weight is not None:
            weights = weight[order]
            values *= weights[:, None]
        return here, np.add.reduceat(values, first, axis=0), np.add.reduceat(weights, first)


def _place(pairs: IntArray, found: IntArray) -> IntArray:
    """The place of each of `found` (m,) among sorted pairs, -1 where it is none of them."""
    place = np.minimum(np.searchsorted(pairs, found), len(pairs) - 1)
    out: IntArray = np.where(pairs[place] == found, place, -1)
    return out


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
) -> tuple[IntArray, FloatArray64]:
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
