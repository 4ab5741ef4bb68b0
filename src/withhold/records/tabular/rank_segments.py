"""Quantile functions of groups of people, without the exact values of their extremes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Segments:
    """Pieces of the distributions of codes. code, weight, low, high: (s,).

    The values of a segment are spread evenly from `low` to `high`; a single value has low = high.
    """

    code: Ints
    weight: Floats
    low: Floats
    high: Floats

    def __add__(self, other: Segments) -> Segments:
        return Segments(
            np.concatenate([self.code, other.code]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
        )


def rank_segments(
    values: Floats, code: Ints, *, weight: Floats, least: int, most: int, apart: int = 1
) -> Segments:
    """Piecewise linear quantile functions between the `least`-th lowest and highest of each code.

    values: (n,), one of each person, sorted within code: (n,), which is sorted too. Every code has
    at least `least` values. weight: (codes,), total of each code's segments, by code. A code has at
    most `most` segments, each at least `apart` ranks long. Where fewer than 2 `least` values leave
    nothing between the two ends, the middle two values, or the middle one and half of the way to
    its neighbours, take their place.
    """
    codes, start, size = np.unique(code, return_index=True, return_counts=True)
    k = np.minimum(least, (size + 1) // 2)
    first, last = (k - 1).astype(np.float64), (size - k).astype(np.float64)
    alone = first == last
    first[alone] = np.maximum(first[alone] - 0.5, 0)
    last[alone] = np.minimum(last[alone] + 0.5, size[alone] - 1)
    ranks = last - first
    pieces = np.maximum(ranks.astype(np.int64) // apart, 1)
    grid = _grid(most) if apart == 1 else np.linspace(0, 1, most + 1)
    coarse = pieces > len(grid) - 1
    pieces[coarse] = len(grid) - 1
    owner = np.repeat(np.arange(len(codes)), pieces)
    piece = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)

    def part(step: Ints) -> Floats:
        """The share of the ranks before the end `step` of each segment."""
        return np.where(coarse[owner], grid[np.minimum(step, len(grid) - 1)], step / pieces[owner])

    def value(share: Floats) -> Floats:
        rank = first[owner] + share * ranks[owner]
        below = np.minimum(rank.astype(np.int64), size[owner] - 1)
        above = np.minimum(below + 1, size[owner] - 1)
        near = rank - below
        low, high = values[start[owner] + below], values[start[owner] + above]
        return between(low, high, near)

    begin, end = part(piece), part(piece + 1)
    total = weight[codes[owner]]
    return Segments(codes[owner], total * (end - begin), value(begin), value(end))


def between(low: Floats, high: Floats, share: Floats) -> Floats:
    """low + share (high - low), exactly low if both are the same; the difference may overflow."""
    mixed: Floats = np.where(low == high, low, low * (1 - share) + high * share)
    return mixed


def _grid(most: int) -> Floats:
    """Shares 0..1 in at most `most` steps: even, with finer steps towards both ends.

    The largest values of a long tail lie far apart, so an even grid would spread its last step over
    most of the range.
    """
    tail = 0.5 ** np.arange(1, 21)
    tail = tail[tail < 2 / most][: most // 4]
    even = np.linspace(0, 1, most - 2 * len(tail) + 1)
    return np.unique(np.concatenate([even, tail, 1 - tail]))
