"""Columns by the equality and the order of their values, and what they say together in a set.

No single column may tell whose records are a woman's, and no two of them, and yet three: if
a xor b xor c is the same in all her records. Such sets are described by how often values repeat in
each column, each pair and each triple, and by how columns rise and fall together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from withhold.records.record_sets import Rows

FloatArray = npt.NDArray[np.float32]
_COLUMNS = 64  # columns that are looked at
_IN_PAIRS, _IN_TRIPLES = 16, 9  # of these, the columns in pairs (120) and in triples (84)
_BINS = 32  # more than a binned column has values
_VALUES = 2_000_000  # numbers of one block


@dataclass(frozen=True, eq=False)
class ColumnCodes:
    """c columns of n records.

    codes (n, c): equal numbers for equal values, in the order of the values. bins (n, c): the same
    in less than 32 values. ranks (n, c): standardised ranks of the values.
    """

    codes: Rows
    bins: Rows
    ranks: FloatArray

    @classmethod
    def of(cls, columns: Iterable[tuple[Rows, Rows]]) -> ColumnCodes | None:
        """Columns as (codes, bins), those with the fewest values first; None if there are none.

        Of columns that tell the same records apart, the first is kept. Constant ones are left out.
        """
        kept, seen = [], set()
        for codes, bins in columns:
            _, first, member = np.unique(codes, return_index=True, return_inverse=True)
            partition = np.argsort(np.argsort(first))[member.reshape(-1)].tobytes()
            if len(first) > 1 and partition not in seen:
                seen.add(partition)
                kept.append((len(first), codes, bins))
        if not kept:
            return None
        kept = sorted(kept, key=lambda one: one[0])[:_COLUMNS]
        codes = np.stack([one[1] for one in kept], axis=1).astype(np.int64)
        bins = np.stack([one[2] for one in kept], axis=1).astype(np.int64)
        return cls(codes, np.minimum(bins, _BINS - 1), _standard_ranks(codes))

    def on(self, rows: Rows) -> ColumnCodes:
        """The same columns for some records."""
        return ColumnCodes(self.codes[rows], self.bins[rows], self.ranks[rows])

    def joint(self) -> Rows:
        """The binned values of pairs and triples of columns as one number each, (n, m)."""
        pairs, triples = self.together()
        two = self.bins[:, pairs[:, 0]] * _BINS + self.bins[:, pairs[:, 1]]
        three = self.bins[:, triples[:, 0]] * _BINS + self.bins[:, triples[:, 1]]
        return np.concatenate([two, three * _BINS + self.bins[:, triples[:, 2]]], axis=1)

    def together(self) -> tuple[Rows, Rows]:
        """The pairs (p, 2) and triples (t, 3) of columns that are looked at."""
        c = self.codes.shape[1]
        pairs = list(combinations(range(min(c, _IN_PAIRS)), 2))
        triples = list(combinations(range(min(c, _IN_TRIPLES)), 3))
        return (
            np.array(pairs, np.int64).reshape(-1, 2),
            np.array(triples, np.int64).reshape(-1, 3),
        )


def describe_columns(columns: ColumnCodes, sets: Rows) -> FloatArray:
    """Features (b, f) of sets (b, r) of records, which do not depend on the order of records.

    For every column, pair and triple: the share of distinct values and of equal pairs of records.
    For every pair also the rank correlation within the set and the mean product of the ranks, for
    every triple the mean product: each with its absolute value, since the sign may be a person's.
    """
    repeated = np.concatenate([columns.codes, columns.joint()], axis=1)
    r, c = sets.shape[1], columns.ranks.shape[1]
    block = max(_VALUES // (r * max(repeated.shape[1], r * c)), 1)
    pieces = [sets[start : start + block] for start in range(0, len(sets), block)]
    told = [np.concatenate([_repeats(repeated[p]), _products(columns, p)], axis=1) for p in pieces]
    return np.concatenate(told).astype(np.float32)


def _repeats(values: Rows) -> FloatArray:
    """Shares (b, 2 m) of distinct values and of equal pairs in values (b, r, m)."""
    r = values.shape[1]
    ordered = np.sort(values, axis=1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(r)[None, :, None]
    # A value's place in its run is how many equal ones came before it.
    before = place - np.maximum.accumulate(np.where(new, place, 0), axis=1)
    equal = before.sum(axis=1) / max(r * (r - 1) / 2, 1)
    return np.concatenate([new.mean(axis=1), equal], axis=1).astype(np.float32)


def _products(columns: ColumnCodes, sets: Rows) -> FloatArray:
    """Correlations and mean products of ranks within sets (b, r), and their absolute values."""
    pairs, triples = columns.together()
    z = columns.ranks[sets]
    own = np.sign(z[:, :, None] - z[:, None]).sum(axis=2)  # ranks within the set, ties shared
    length = np.sqrt(np.square(own).sum(axis=1))
    scale = length[:, pairs[:, 0]] * length[:, pairs[:, 1]]
    rising = (own[:, :, pairs[:, 0]] * own[:, :, pairs[:, 1]]).sum(axis=1)
    rising = np.divide(rising, scale, out=np.zeros_like(rising), where=scale > 0)
    two = z[:, :, pairs[:, 0]] * z[:, :, pairs[:, 1]]
    three = z[:, :, triples[:, 0]] * z[:, :, triples[:, 1]] * z[:, :, triples[:, 2]]
    told = np.concatenate([rising, two.mean(axis=1), three.mean(axis=1)], axis=1)
    return np.concatenate([told, np.abs(told)], axis=1)


def _standard_ranks(codes: Rows) -> FloatArray:
    """The mean rank of each value of codes (n, c), standardised."""
    out = np.empty(codes.shape, np.float32)
    for i in range(codes.shape[1]):
        _, member, counts = np.unique(codes[:, i], return_inverse=True, return_counts=True)
        rank = (np.cumsum(counts) - (counts - 1) / 2)[member.reshape(-1)]
        out[:, i] = (rank - rank.mean()) / max(rank.std(), 1e-12)
    return out
