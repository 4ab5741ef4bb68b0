"""Elimination: what the labels of other rows tell of one row, through the counts of a code.

A release is balanced over its classes, so an attacker who knows the labels of most rows can name
the class that a code still lacks. Two figures, for a share f of the rows labelled at random:

- the *bound* is the success of the attacker who also knows the whole table c_sj of classes by
  codes: at code j the best guess is the class with most rows left, argmax_s (c_sj - T_sj), T the
  labelled counts. No attacker of the labels and the codes does better. Monte Carlo over which rows
  are labelled. An attacker who knows all labels but one *and* the table gets the last one by
  subtraction.
- the *measured* figure is of an attacker who knows the release and the labels, but not the table:
  the better of two rules, the class with most labelled rows at the code, argmax_s T_sj, and the
  class that lacks most there, argmax_s (t_s b_j - T_sj), with t_s its labelled rows and b_j the
  share of the code; or guessing the commonest class. Two rules fixed beforehand: one chosen with
  hindsight among many would read chance as a leak.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
SHARES = ("0.1", "0.5", "0.9")
ALL_BUT_ONE = "all-but-one"
DELTA = 1e-3  # how rarely the Monte Carlo may understate a bound
_MOST, _LACKS = 0, 1
_RULES = (_MOST, _LACKS)
_SEED = 0xE1
_CELLS = 20_000_000  # drawn in all


def known_bounds(counts: Table) -> dict[str, float]:
    """The bound for each share of known labels: (K, N) counts -> fractions."""
    found = {share: known_bound(counts, float(share)) for share in SHARES}
    return {**found, ALL_BUT_ONE: 1.0}


def known_bound(counts: Table, share: float) -> float:
    """E sum_j max_s (c_sj - T_sj) / U over random sets of labelled rows; U rows are left.

    Swapping one labelled row moves the sum by at most one, so the mean of M draws exceeds its
    expectation by more than sqrt(ln(1/delta) / (2 M U)) with probability delta at most.
    """
    whole: IntArray = np.rint(counts).astype(np.int64)
    n = int(whole.sum())
    left = n - round(share * n)
    if left < 1:
        return 1.0
    rng = np.random.default_rng([_SEED, 0, round(1000 * share)])
    number = int(np.clip(_CELLS // whole.size, 4, 200))
    total = 0
    for _ in range(number):
        total += int(_some_rows(whole, left, rng).max(axis=0).sum())
    margin = sqrt(log(1 / DELTA) / (2 * number * left))
    return min(total / (number * left) + margin, 1.0)


def measured_rates(counts: Table) -> dict[str, float]:
    """What an attacker without the table reads, for each share of known labels."""
    whole: IntArray = np.rint(counts).astype(np.int64)
    rng = np.random.default_rng([_SEED, 0])
    found = {share: _sampled(whole, float(share), rng) for share in SHARES}
    return {**found, ALL_BUT_ONE: leave_one_out(whole)}


def leave_one_out(counts: IntArray) -> float:
    """The better rule of an attacker who knows every label but that of the row it names."""
    majority = float(counts.sum(axis=1).max() / max(int(counts.sum()), 1))
    return max(majority, *(_leave_one_out(counts, rule) for rule in _RULES))


def _leave_one_out(counts: IntArray, rule: int) -> float:
    """Each row in turn is taken out of the table and guessed: exact, cell by cell."""
    n = int(counts.sum())
    right = 0
    for s in range(len(counts)):
        here = np.flatnonzero(counts[s])  # codes of rows of class s
        if not len(here):
            continue
        table = counts[:, here].astype(np.float64)  # (K, codes of the class)
        table[s] -= 1
        sizes = counts.sum(axis=1).astype(np.float64)
        sizes[s] -= 1
        shares = counts.sum(axis=0)[here] / n
        guess = _scores(table, sizes, shares, rule).argmax(axis=0)
        right += int(counts[s, here][guess == s].sum())
    return right / max(n, 1)


def _sampled(counts: IntArray, share: float, rng: np.random.Generator) -> float:
    """The better rule on the rows that are left, over a few sets of labelled rows."""
    n = int(counts.sum())
    known = round(share * n)
    if not 0 < known < n:
        return float(counts.sum(axis=1).max() / max(n, 1))
    repeats = int(np.clip(_CELLS // (10 * counts.size), 2, 20))
    hits = np.zeros(len(_RULES))
    for _ in range(repeats):
        labelled = _some_rows(counts, known, rng)
        left = counts - labelled
        sizes = labelled.sum(axis=1).astype(np.float64)
        shares = counts.sum(axis=0) / n
        for rule in _RULES:
            guess = _scores(labelled.astype(np.float64), sizes, shares, rule).argmax(axis=0)
            hits[rule] += left[guess, np.arange(left.shape[1])].sum()
    majority = float(counts.sum(axis=1).max() / n)
    return max(majority, float(hits.max() / (repeats * (n - known))))


def _some_rows(counts: IntArray, number: int, rng: np.random.Generator) -> IntArray:
    """The table (K, N) of `number` rows, drawn without replacement."""
    drawn = rng.multivariate_hypergeometric(counts.reshape(-1), number, method="marginals")
    return drawn.reshape(counts.shape)


def _scores(table: FloatArray, sizes: FloatArray, shares: FloatArray, rule: int) -> FloatArray:
    """Scores (K, N) from labelled counts (K, N), class sizes (K,) and code shares (N,)."""
    return table if rule == _MOST else np.outer(sizes, shares) - table
