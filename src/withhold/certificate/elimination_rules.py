"""Fixed rules of an attacker who knows labels of other rows, on codes or on groups of codes.

With T_sg the labelled rows of class s in group g, T_su those with the preserved value u of the
group, and b_g|u the share of the group among the released rows with that value, the guess is

    the class with most labelled rows, argmax_s T_sg,
    the class that lacks most, argmax_s (T_su b_g|u - T_sg), or
    the commonest of the classes that lack most, up to a quarter of a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_MOST, _LACKS, _NEARLY = 0, 1, 2
RULES = (_MOST, _LACKS, _NEARLY)
_TIE = 0.25  # rows


@dataclass(frozen=True, eq=False)
class Level:
    """Columns (M,) of a table in groups, each with one preserved value: `value` (G,)."""

    group: IntArray
    value: IntArray

    @classmethod
    def of(cls, group: IntArray, values: IntArray | None = None) -> Level:
        """Groups of columns; columns with different preserved values (M,) stay apart."""
        told = np.zeros_like(group) if values is None else values
        pairs, member = np.unique(np.stack([group, told]), axis=1, return_inverse=True)
        return cls(member.reshape(-1), pairs[1])

    def merge(self, table: IntArray) -> IntArray:
        """Sum the columns of each group: (K, M) -> (K, G)."""
        order = np.argsort(self.group, kind="stable")
        starts = np.searchsorted(self.group[order], np.arange(len(self.value)))
        merged: IntArray = np.add.reduceat(table[:, order], starts, axis=1)
        return merged

    def by_value(self, table: IntArray) -> IntArray:
        """Sum the groups with the same preserved value, for each group: (K, G) -> (K, G)."""
        sums = np.zeros((len(table), int(self.value.max()) + 1), np.int64)
        np.add.at(sums.T, self.value, table.T)
        found: IntArray = sums[:, self.value]
        return found


def right_on_rest(level: Level, labelled: IntArray, rest: IntArray) -> IntArray:
    """How many rows of the table `rest` (K, M) each rule names, from those `labelled`: (R,)."""
    known, unknown = level.merge(labelled), level.merge(rest)
    sizes, shares = level.by_value(known), _shares(level, known + unknown)
    columns = np.arange(known.shape[1])
    return np.array(
        [unknown[_scores(known, sizes, shares, r).argmax(axis=0), columns].sum() for r in RULES]
    )


def right_left_out(level: Level, counts: IntArray) -> IntArray:
    """How many rows of each group each rule names, all other labels being known: (R, G).

    Each row in turn is taken out of the table (K, M) and guessed: exact, cell by cell.
    """
    merged = level.merge(counts)
    by_value, shares = level.by_value(merged), _shares(level, merged)
    right = np.zeros((len(RULES), merged.shape[1]), np.int64)
    for s in range(len(merged)):
        here = np.flatnonzero(merged[s])  # groups with rows of class s
        if not len(here):
            continue
        table, sizes = merged[:, here].copy(), by_value[:, here].copy()
        table[s] -= 1
        sizes[s] -= 1
        for rule in RULES:
            guess = _scores(table, sizes, shares[here], rule).argmax(axis=0)
            right[rule, here] += np.where(guess == s, merged[s, here], 0)
    return right


def _shares(level: Level, table: IntArray) -> FloatArray:
    """The share of each group among the rows with its preserved value: (G,)."""
    whole = level.by_value(table.sum(axis=0, keepdims=True))[0]
    found: FloatArray = table.sum(axis=0) / np.maximum(whole, 1)
    return found


def _scores(table: IntArray, sizes: IntArray, shares: FloatArray, rule: int) -> FloatArray:
    """Scores (K, G) from labelled counts (K, G), those of the value (K, G) and shares (G,)."""
    if rule == _MOST:
        return table.astype(np.float64)
    lacks: FloatArray = sizes * shares - table
    if rule == _LACKS:
        return lacks
    tied = lacks >= lacks.max(axis=0) - _TIE
    # The row to be named is not counted in its class, so classes that differ by it are as common.
    common = np.where(tied, sizes, 0).max(axis=0) - 1
    return np.where(tied & (sizes >= common), lacks.max(axis=0) + 1, lacks)
