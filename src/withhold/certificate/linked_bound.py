"""Several records of one class put together: what the best attacker reads from r of their codes.

With hard codes, c_sj is the count of code j in class s, m_s = sum_j c_sj and pi_s = m_s / m. Draw r
codes of one class without replacement: P_s(y). The best attacker of these very records is right in

    B~_r = sum_y max_s pi_s P_s(y),

by Monte Carlo over y: draw s, then r codes, and average the largest posterior.

A bound for records to come. Let f* be the best rule of the population. B~_r >= sum_s pi_s U_s(f*),
where U_s is a U-statistic with a kernel in [0, 1], so it is as good as a mean of floor(m_s / r)
independent blocks (Hoeffding 1963, section 5). With confidence 1 - d1 - d2 - d3,

    B_r <= B~_r + sqrt(ln(1/d1) / 2 sum_s pi_s^2 / floor(m_s / r)) + sqrt(ln(1/d2) / 2m) + e(d3):

the second term pays for the blocks, the third for priors that are only estimated, and e is the
error of the Monte Carlo (empirical Bernstein, Maurer and Pontil 2009). Classes with fewer than r
records count fully.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
SIZES = (5, 20, 50)
DRAWS = 10_000  # Monte Carlo samples, fewer where there are many classes
_WORK = 40_000_000  # samples x records x classes
_SEED = 0x11


@dataclass(frozen=True)
class LinkedRate:
    """How often the best attacker of r records is right, and the error of this estimate."""

    mean: float
    deviation: float
    draws: int
    certain: float  # the share of records in classes with fewer than r records, counted fully

    def at_most(self, delta: float) -> float:
        """An upper limit that the exact figure exceeds with probability `delta` at most."""
        if not self.draws:
            return 1.0
        spread = log(2 / delta)
        margin = self.deviation * sqrt(2 * spread / self.draws) + 7 * spread / (
            3 * max(self.draws - 1, 1)
        )
        return min(self.mean + (1 - self.certain) * margin, 1.0)


def linked_rate(
    counts: Table, r: int, *, classes: IntArray | None = None, seed: int = 0
) -> LinkedRate:
    """B~_r of counts (K, N): r codes of one class, drawn without replacement.

    With `classes` (P,), the rows of counts (P, N) are people and each has one of the classes: r
    codes of one person are drawn, and the class is guessed.
    """
    whole: IntArray = np.rint(counts).astype(np.int64)
    owner = np.arange(len(whole)) if classes is None else classes
    some = whole.sum(axis=1) > 0
    whole, owner = whole[some], owner[some]
    sizes = whole.sum(axis=1)
    total = int(sizes.sum())
    able = sizes >= r
    certain = float(sizes[~able].sum() / max(total, 1))
    whole, sizes = whole[able], sizes[able]
    owner = np.unique(owner[able], return_inverse=True)[1].reshape(-1)
    if not len(sizes):
        return LinkedRate(1.0, 0.0, 0, 1.0)
    rng = np.random.default_rng([_SEED, seed, r])
    number = int(np.clip(_WORK // (r * len(sizes)), 500, DRAWS))
    share = sizes / sizes.sum()
    drawn = rng.multinomial(number, share)
    best = np.concatenate(
        [
            _largest_posterior(whole, share, _codes_of(whole[s], int(k), r, rng), owner)
            for s, k in enumerate(drawn)
            if k
        ]
    )
    mean = certain + (1 - certain) * float(best.mean())
    return LinkedRate(mean, float(best.std(ddof=1)), number, certain)


def bound_of(rate: LinkedRate, counts: Table, r: int, confidence: float) -> float:
    """An upper confidence bound on B_r of later records, from B~_r of these counts; at most 1."""
    sizes = counts.sum(axis=1)
    sizes, m = sizes[sizes >= r], float(counts.sum())
    if not len(sizes):
        return 1.0
    delta = 1 - confidence
    d3 = delta / 20
    d1 = d2 = (delta - d3) / 2
    blocks = float(((sizes / m) ** 2 / np.floor(sizes / r)).sum())
    slack = sqrt(0.5 * log(1 / d1) * blocks) + sqrt(log(1 / d2) / (2 * m))
    return min(rate.at_most(d3) + slack, 1.0)


def _codes_of(counts: IntArray, samples: int, r: int, rng: np.random.Generator) -> IntArray:
    """Codes of r records of one class, drawn without replacement: (samples, r).

    Floyd's algorithm: the i-th number is drawn below n - r + i + 1, and is n - r + i itself where
    the number drawn was chosen before. Every set of r is as likely; the order does not matter.
    """
    codes = np.repeat(np.arange(len(counts)), counts)
    chosen = np.empty((samples, r), np.int64)
    for i in range(r):
        last = len(codes) - r + i
        drawn = rng.integers(0, last + 1, samples)
        again = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        chosen[:, i] = np.where(again, last, drawn)
    out: IntArray = codes[chosen]
    return out


def _largest_posterior(
    counts: IntArray, share: FloatArray, codes: IntArray, owner: IntArray
) -> FloatArray:
    """max_s pi_s P_s(y) / sum_s pi_s P_s(y) of each sample of codes (B, r): (B,).

    Rows of counts with the same `owner` are one class, whose posterior is their sum.

    P_s(y) = prod_t (c_s,y_t - earlier occurrences of y_t) / (m_s - t).
    """
    sizes = counts.sum(axis=1)
    r = codes.shape[1]
    out = np.empty(len(codes))
    start = np.log(share) - np.log(sizes[:, None] - np.arange(r)).sum(axis=1)
    rows = max(2_000_000 // len(counts), 1)
    by_code = np.ascontiguousarray(counts.T)  # (N, K)
    with np.errstate(divide="ignore"):
        log_of = np.log(np.arange(int(counts.max()) + 1))
    for first in range(0, len(codes), rows):
        piece = np.sort(codes[first : first + rows], axis=1)  # the order does not matter
        score = np.tile(start, (len(piece), 1))
        before = np.zeros(len(piece), np.int64)
        for t in range(r):
            if t:
                before = np.where(piece[:, t] == piece[:, t - 1], before + 1, 0)
            left = by_code[piece[:, t]] - before[:, None]
            score += log_of[np.maximum(left, 0)]
        odds = np.exp(score - score.max(axis=1, keepdims=True))
        if len(counts) > int(owner.max()) + 1:
            of_class = np.zeros((len(piece), int(owner.max()) + 1))
            np.add.at(of_class.T, owner, odds.T)
            odds = of_class
        out[first : first + rows] = odds.max(axis=1) / odds.sum(axis=1)
    return out
