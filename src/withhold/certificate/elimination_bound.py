"""Elimination: what the labels of other rows tell of one row, through the counts of a code.

A release is balanced over its classes, so an attacker who knows the labels of most rows can name
the class that a code still lacks. Two figures, for a share f of the rows labelled at random:

- the *bound* is the success of the attacker who also knows the whole table c_sj of classes by
  codes: at code j the best guess is the class with most rows left, argmax_s (c_sj - T_sj), T the
  labelled counts. No attacker of the labels and the codes does better. It is exact where that is
  affordable, and otherwise Monte Carlo over which rows are labelled. An attacker who knows all
  labels but one *and* the table gets the last one by subtraction, unless rows were held back at
  random: then the table is that of all rows, and the row may be any that is not labelled.
- the *measured* figure is of an attacker who knows the release and the labels, but not the table:
  the best of some rules (`elimination_rules`), or guessing the commonest class. With the code
  vectors, the rules are also run on groups of near codes (`code_levels`). The best of many, chosen
  with hindsight, would read chance as a leak. So for a share of the labels, the level and the rule
  are chosen on one half of the label sets and judged on the other half, and the other way round.
  For all labels but one there is a single set; there the level and the rule have the largest
  figure less three standard errors, counted by groups, since the rows of a group are guessed alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, sqrt

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table
from withhold.certificate.code_levels import code_levels
from withhold.certificate.elimination_rules import RULES, Level, right_left_out, right_on_rest
from withhold.certificate.rows_left import exact_left

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
SHARES = ("0.1", "0.5", "0.9")
ALL_BUT_ONE = "all-but-one"
DELTA = 1e-3  # how rarely the Monte Carlo may understate a bound
ERROR = 0.0005  # the margin of the Monte Carlo, where the work allows it
_SEED = 0xE1
_CELLS = 20_000_000  # drawn in all


def known_bounds(counts: Table, *, leave: int | None = None) -> dict[str, float]:
    """The bound for each share of known labels: (K, N) counts -> fractions.

    leave: how many of the rows leave, where the others are held back at random. Nobody knows which,
    so the row to name is any of those without a known label, held back or not.
    """
    n = round(float(counts.sum()))
    leave = n if leave is None else leave
    labelled = {share: round(float(share) * leave) for share in SHARES} | {ALL_BUT_ONE: leave - 1}
    return {share: known_bound(counts, n - known) for share, known in labelled.items()}


def known_bound(counts: Table, left: int) -> float:
    """E sum_j max_s (c_sj - T_sj) / U over random sets of labelled rows; U = `left` have no label.

    Exact if possible. Otherwise: swapping one labelled row moves the sum by at most one, so the
    mean of M draws falls short of its expectation by more than sqrt(ln(1/delta) / (2 M U)) with
    probability delta at most. M is the number that brings this below ERROR, or all that the work
    allows.
    """
    whole: IntArray = np.rint(counts).astype(np.int64)
    if left <= 1:
        return 1.0
    exact = exact_left(whole, left)
    if exact is not None:
        return min(exact, 1.0)
    rng = np.random.default_rng([_SEED, 0, left])
    wanted = ceil(log(1 / DELTA) / (2 * left * ERROR**2))
    number = max(min(wanted, _CELLS // whole.size), 4)
    total = 0
    for _ in range(number):
        total += int(_some_rows(whole, left, rng).max(axis=0).sum())
    margin = sqrt(log(1 / DELTA) / (2 * number * left))
    return min(total / (number * left) + margin, 1.0)


def measured_rates(
    counts: Table,
    codes: npt.NDArray[np.floating] | None = None,
    *,
    values: IntArray | None = None,
) -> dict[str, float]:
    """What an attacker without the table reads, for each share of known labels.

    counts: (K, N). codes: (N, d), the vector of each column; without them only single codes are
    attacked. values: (N,), the preserved value of each column, which the attacker knows.
    """
    whole: IntArray = np.rint(counts).astype(np.int64)
    coarser = [] if codes is None else code_levels(codes)
    levels = [Level.of(group, values) for group in (np.arange(whole.shape[1]), *coarser)]
    rng = np.random.default_rng([_SEED, 0])
    found = {share: _sampled(whole, float(share), levels, rng) for share in SHARES}
    return {**found, ALL_BUT_ONE: leave_one_out(whole, levels)}


def leave_one_out(counts: IntArray, levels: Sequence[Level] | None = None) -> float:
    """The best rule of an attacker who knows every label but that of the row it names."""
    n = max(int(counts.sum()), 1)
    majority = float(counts.sum(axis=1).max() / n)
    levels = levels or [Level.of(np.arange(counts.shape[1]))]
    if len(levels) == 1:
        return max(majority, float(right_left_out(levels[0], counts).sum(axis=1).max() / n))
    best, sure = majority, majority
    for level in levels:
        size = level.merge(counts).sum(axis=0)
        for right in right_left_out(level, counts):
            rate = float(right.sum() / n)
            low = rate - 3 * _error(right, size, majority, len(counts))
            if low > sure:
                best, sure = rate, low
    return best


def _error(right: IntArray, size: IntArray, majority: float, classes: int) -> float:
    """The standard error of sum(right) / sum(size), both (G,), where nothing leaks.

    The smaller of two: as if the K classes of each group were named by chance, and by the spread
    between groups. A leak in some of the groups spreads them widely, and must not hide in that.
    """
    groups, total = len(size), max(int(size.sum()), 1)
    if groups < 2:
        return 1.0
    rate = float(right.sum() / total)
    spread = sqrt(((right - size * rate) ** 2).sum() * groups / (groups - 1)) / total
    return min(float(spread), sqrt(majority * (1 - majority) / (groups * classes)))


def _sampled(
    counts: IntArray, share: float, levels: Sequence[Level], rng: np.random.Generator
) -> float:
    """The best rule on the rows that are left, over a few sets of labelled rows."""
    n = int(counts.sum())
    known = round(share * n)
    majority = float(counts.sum(axis=1).max() / max(n, 1))
    if not 0 < known < n:
        return majority
    repeats = int(np.clip(_CELLS // (10 * counts.size), 2, 20))
    hits = np.zeros((2, len(levels), len(RULES)))
    rows = np.zeros_like(hits)
    for i in range(repeats):
        labelled = _some_rows(counts, known, rng)
        hits[i % 2] += [right_on_rest(level, labelled, counts - labelled) for level in levels]
        rows[i % 2] += n - known
    if len(levels) == 1:
        return max(majority, float((hits.sum(axis=0) / rows.sum(axis=0)).max()))
    return max(majority, _chosen(hits, rows))


def _chosen(hits: FloatArray, rows: FloatArray) -> float:
    """Choose the level and rule on one half, judge it on the other, both ways: (2, L, R) each."""
    hits, rows = hits.reshape(2, -1), rows.reshape(2, -1)
    best = (hits / np.maximum(rows, 1)).argmax(axis=1)  # the finest level among equals
    right = hits[1, best[0]] + hits[0, best[1]]
    return float(right / max(rows[1, best[0]] + rows[0, best[1]], 1))


def _some_rows(counts: IntArray, number: int, rng: np.random.Generator) -> IntArray:
    """The table (K, N) of `number` rows, drawn without replacement."""
    drawn = rng.multivariate_hypergeometric(counts.reshape(-1), number, method="marginals")
    return drawn.reshape(counts.shape)
