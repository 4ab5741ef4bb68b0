"""Several records of one class put together: what the best attacker reads from r of their codes.

With hard codes, c_sj is the count of code j in class s, m_s = sum_j c_sj and pi_s = m_s / m. Draw r
codes of one class without replacement: P_s(y). The best attacker of these very records is right in

    B~_r = sum_y max_s pi_s P_s(y),

exactly where all classes have the same counts (max_s pi_s) or where the samples y are few, and
otherwise by Monte Carlo over y: draw s, then r codes, and average the largest posterior. Draws are
added until the error is below 0.05 points or the work is too much. As the data decide when to stop,
look k may fail with probability d / (k (k + 1)), which is d over all looks.

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
from withhold.certificate.linked_posterior import LinkedCodes

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
SIZES = (5, 20, 50)
ERROR = 0.0005  # half width to reach, where the work allows it
_DELTA = 1e-3  # at which that half width is judged
_FIRST = 4_000  # draws before the first look; a look doubles them at most
_LEAST = 500  # draws, however many classes
_WORK = 40_000_000  # samples x records x distinct classes
_MUCH_WORK = 500_000_000  # the same, where it is enough to reach ERROR
_PER_DRAW = 12  # the work of drawing a record, counted in classes
_SAMPLES = 20_000  # up to so many are enumerated
_SEED = 0x11


@dataclass(frozen=True)
class LinkedRate:
    """How often the best attacker of r records is right, and the error of this estimate."""

    mean: float
    deviation: float
    draws: int  # 0 where `mean` is exact
    certain: float  # the share of records in classes with fewer than r records, counted fully
    looks: int = 1  # how often the draws were looked at to decide whether to stop

    def at_most(self, delta: float) -> float:
        """An upper limit that the exact figure exceeds with probability `delta` at most."""
        return min(self.mean + self.half_width(delta), 1.0)

    def half_width(self, delta: float) -> float:
        """Empirical Bernstein, at the part of `delta` that belongs to the last look."""
        if not self.draws:
            return 0.0
        spread = log(2 * self.looks * (self.looks + 1) / delta)
        margin = self.deviation * sqrt(2 * spread / self.draws) + 7 * spread / (
            3 * max(self.draws - 1, 1)
        )
        return (1 - self.certain) * margin


def linked_rate(
    counts: Table, r: int, *, classes: IntArray | None = None, seed: int = 0
) -> LinkedRate:
    """B~_r of counts (K, N): r codes of one class, drawn without replacement.

    With `classes` (P,), the rows of counts (P, N) are people and each has one of the classes: r
    codes of one person are drawn, and the class is guessed.
    """
    whole: IntArray = np.rint(counts).astype(np.int64)
    owner = np.arange(len(whole)) if classes is None else classes
    sizes = whole.sum(axis=1)
    total, able = int(sizes.sum()), sizes >= max(r, 1)
    few = int(sizes[~able].sum())  # records of classes that have fewer than r
    if not able.any():
        return LinkedRate(1.0, 0.0, 0, 1.0)
    whole, sizes = whole[able], sizes[able]
    whole = whole[:, whole.any(axis=0)]
    owner = np.unique(owner[able], return_inverse=True)[1].reshape(-1)
    certain = few / total
    if (whole == whole[0]).all():
        # Every class has the same likelihood, so the codes change no posterior.
        return LinkedRate(
            (few + float(np.bincount(owner, weights=sizes).max())) / total, 0.0, 0, certain
        )
    linked = LinkedCodes(whole, owner, r)
    if linked.every_sample() <= _SAMPLES and linked.every_sample() * linked.work <= _WORK:
        return LinkedRate(certain + (1 - certain) * linked.exact(), 0.0, 0, certain)
    return _by_draws(linked, certain, np.random.default_rng([_SEED, seed, r]))


def _by_draws(linked: LinkedCodes, certain: float, rng: np.random.Generator) -> LinkedRate:
    """At most double the draws until the half width is below ERROR or cannot be brought there."""
    work = linked.work + _PER_DRAW * linked.r
    number = min(_FIRST, max(_WORK // work, _LEAST))
    count, mean, square = 0, 0.0, 0.0
    looks = 0
    while True:
        best = linked.largest_posterior(linked.sample(number, rng))
        # The mean and the sum of squares about it, updated batch by batch (Chan et al. 1979).
        step = float(best.mean()) - mean
        square += float(np.square(best - best.mean()).sum())
        square += step**2 * count * number / (count + number)
        mean += step * number / (count + number)
        count += number
        looks += 1
        deviation = sqrt(square / (count - 1))
        rate = LinkedRate(certain + (1 - certain) * mean, deviation, count, certain, looks)
        if rate.half_width(_DELTA) <= ERROR:
            return rate
        needed = _draws_needed(rate)
        most = (_MUCH_WORK if needed * work <= _MUCH_WORK else _WORK) // work
        number = min(count, max(int(needed) - count, count // 10), most - count)
        if number < count // 10:
            return rate


def _draws_needed(rate: LinkedRate) -> float:
    """About how many draws bring the half width to ERROR: a n + b sqrt(n) = ERROR n, solved."""
    spread = log(2 * (rate.looks + 4) * (rate.looks + 5) / _DELTA)
    root = rate.deviation * sqrt(2 * spread)
    inverse = (root + sqrt(root**2 + 4 * ERROR * 7 * spread / 3)) / (2 * ERROR)
    return inverse**2


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
