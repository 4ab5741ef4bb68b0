"""Several records of one class put together, where every record draws its code from a plan.

An attacker knows all originals, all labels and the plan W(j | i), but not the draws. It sees the
codes y of r different records of one class, class s with probability pi_s = n_s / n, and guesses
the class. With P_s(y) of `plan_posterior`, the best attacker is right in

    B_r = sum_y max_s pi_s P_s(y).

With replacement and equal code shares p_sj in every class this is max_s pi_s. P_s is a permanent,
so B_r is bounded, in two ways; the result is the smaller one.

1. Without samples. P_s(y) <= c_s prod_k p_s(y_k), where c_s = n_s^r / (n_s)_r or less, and so
   B_r <= (sum_j max_s pi_s c_s p_sj) (sum_j max_s p_sj)^(r - 1).

2. With weights P^_s(y) that are unbiased for P_s(y). The mean of max_s pi_s P^_s(y) is at least its
   value for P_s (Jensen), and the numbers below have that mean, without an estimated denominator:
   - y drawn with replacement from q(y) = sum_s pi_s prod_k p_s(y_k): max_s pi_s P^_s(y) / q(y),
     less its control variate max_s pi_s (sum_s pi_s P^_s(y) / q(y) - 1). It is at most about
     max_s pi_s c_s, so this is used where r is small beside n_s.
   - y drawn as the attacker sees it, the true records put among the samples of their class:
     V = max_s pi_s P^_s / sum_s pi_s P^_s. This is the largest posterior of an attacker who is also
     told these samples, one of which is the truth. Its knowledge can only help, and V <= 1.

A limit on the mean of M numbers in [0, 1] is at least 1 / M wide, so V is cut into levels:
V = min(V, t) + (V - t)+. The mean of the second part is no larger than that of an attacker who is
told more, which is cheaper to draw: fewer samples a class, or a few classes that include the true
one. All limits together fail with probability DELTA at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.certificate.elimination_bound import DELTA, ERROR
from withhold.certificate.mean_limit import mean_limit
from withhold.certificate.plan_posterior import PlanCodes

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_SEED = 0x1B
_CELLS = 40_000_000  # of the largest plan that is sampled, about 12 bytes each
_WORK = 16_000_000  # records picked in all
_CACHED = 4_000_000  # cells; a pick from a larger plan takes about twice as long
_SAMPLES = 16  # weights a class, where the work allows it
_LEAST = 150  # draws that come before more weights
_MOST = 20_000  # draws
_ROWS = 50_000  # records whose masses are added at once
_BLOCK = 60_000  # weights computed at once
_FEW = 8  # classes of the last level
_WIDTH = 8.0  # about how many times 1 / draws a limit is above its mean


@dataclass(frozen=True)
class _Level:
    """The part of V from `low` to `high`, by `draws` of `samples` weights of `classes` classes."""

    low: float
    high: float
    classes: int
    samples: int
    draws: int

    @property
    def width(self) -> float:
        return _WIDTH * (self.high - self.low) / max(self.draws, 1)


def plan_linked(w: npt.NDArray[np.float32], s: IntArray, r: int, *, seed: int = 0) -> float:
    """An upper limit on B_r, from max_s pi_s to 1; classes with fewer than r records count fully.

    w: (n, N), rows sum to 1. s: (n,), the class of each record. r >= 1.
    """
    s = np.unique(s, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(s)
    floor, certain = float(sizes.max() / len(s)), float(sizes[sizes < r].sum() / len(s))
    if certain == 1.0:
        return 1.0
    if w.size > _CELLS:
        return plan_linked_bound(_masses(w, s, len(sizes)), sizes, r)
    if certain:
        able = sizes[s] >= r
        w, s = w[able], np.unique(s[able], return_inverse=True)[1].reshape(-1)
    plan = PlanCodes(w, s, r)
    largest = np.exp(np.minimum(plan.largest_weight(), 700.0))
    best = _without_samples(plan.prior, plan.shares, largest, r)
    if r > 1 and best > plan.prior.max() + ERROR:  # for one record it is exact
        best = min(best, _with_samples(plan, largest, np.random.default_rng([_SEED, seed, r])))
    return float(np.clip(certain + (1 - certain) * best, floor, 1.0))


def plan_linked_bound(masses: FloatArray, sizes: IntArray, r: int) -> float:
    """The limit without samples, from masses (K, N), sum_{i in s} W(j | i), and sizes (K,), n_s."""
    total = sizes.sum()
    able = sizes >= max(r, 1)
    certain = float(sizes[~able].sum() / total)
    if not able.any():
        return 1.0
    few = sizes[able]
    logs = -np.log1p(-np.arange(r) / few[:, None]).sum(axis=1)
    largest = np.exp(np.minimum(logs, 700.0))
    found = _without_samples(few / few.sum(), masses[able] / few[:, None], largest, r)
    return float(np.clip(certain + (1 - certain) * found, sizes.max() / total, 1.0))


def _masses(w: npt.NDArray[np.float32], s: IntArray, k: int) -> FloatArray:
    """sum_{i in s} W(j | i): (K, N), a block of records at a time."""
    found = np.zeros((k, w.shape[1]))
    for start in range(0, len(w), _ROWS):
        block = s[start : start + _ROWS]
        order = np.argsort(block, kind="stable")
        classes, first = np.unique(block[order], return_index=True)
        rows = w[start : start + _ROWS][order]
        found[classes] += np.add.reduceat(rows, first, axis=0, dtype=np.float64)
    return found


def _without_samples(prior: FloatArray, shares: FloatArray, largest: FloatArray, r: int) -> float:
    """(sum_j max_s pi_s c_s p_sj) (sum_j max_s p_sj)^(r - 1): (K,), (K, N), (K,)."""
    first = float(((prior * largest)[:, None] * shares).max(axis=0).sum())
    later = (r - 1) * np.log(shares.max(axis=0).sum())
    return float(min(first * np.exp(min(later, 700.0)), 1.0))


def _with_samples(plan: PlanCodes, largest: FloatArray, rng: np.random.Generator) -> float:
    """The kind of draw that promises the narrower limit is chosen before anything is drawn."""
    work = _WORK if plan.cells <= _CACHED else _WORK // 2
    if _LEAST * len(plan.sizes) * plan.r > work:
        return 1.0  # too few draws to say anything
    low, high = _range_with_replacement(plan, largest)
    one = _level(plan, low, high, classes=len(plan.sizes), work=work)
    levels = _levels(plan, work)
    if one.width < sum(level.width for level in levels):
        x = _drawn_with_replacement(plan, one, rng)
        return low + (high - low) * mean_limit(np.clip((x - low) / (high - low), 0, 1), DELTA)
    found = 0.0
    for level in levels:
        part = np.clip(_posteriors(plan, level, rng) - level.low, 0, level.high - level.low)
        scale = level.high - level.low
        found += scale * mean_limit(part / scale, DELTA / len(levels))
    return found + levels[0].low


def _levels(plan: PlanCodes, work: int) -> list[_Level]:
    """From 1 / K to 3 times the prior; up to 20 times with one weight; above with few classes."""
    k, prior = len(plan.sizes), float(plan.prior.max())
    first, second = min(3 * prior, 1.0), min(20 * prior, 1.0)
    if k <= _FEW or first >= 0.5:
        return [_level(plan, 1 / k, 1.0, classes=k, work=work)]
    found = [_level(plan, 1 / k, first, classes=k, work=work // 2)]
    found.append(_level(plan, first, second, classes=k, work=work // 4, samples=1))
    if second < 1:
        found.append(_level(plan, second, 1.0, classes=_FEW, work=work // 4, samples=1))
    return found


def _level(
    plan: PlanCodes,
    low: float,
    high: float,
    *,
    classes: int,
    work: int,
    samples: int = _SAMPLES,
) -> _Level:
    """As many weights, then as many draws, as the work allows."""
    per_draw = plan.r * plan.shares.shape[1] // 50 + 300  # the work of drawing the codes
    samples = int(np.clip(work // (_LEAST * classes * plan.r), 1, samples))
    draws = min(work // (classes * samples * plan.r + per_draw), _MOST)
    return _Level(low, high, classes, samples, draws)


def _range_with_replacement(plan: PlanCodes, largest: FloatArray) -> tuple[float, float]:
    """Limits of the numbers of `_drawn_with_replacement`.

    With X = max_s pi_s P^_s / q and D = sum_s pi_s P^_s / q they are X - b (D - 1), b = max_s pi_s.
    X / D >= 1 / K and X <= D <= max_s c_s; X <= max_s pi_s c_s (max_j max_s p_sj / min_s p_sj)^r.
    """
    k, b = len(plan.sizes), float(plan.prior.max())
    least = plan.shares.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        unequal = np.where(plan.shares.max(axis=0) > 0, plan.shares.max(axis=0) / least, 1.0)
    factor = np.exp(min(plan.r * np.log(unequal.max()), 700.0))
    with np.errstate(over="ignore"):  # an infinite product is not the smaller one
        x = min(float((plan.prior * largest).max() * factor), float(largest.max()))
    return b - (b - 1 / k) * float(largest.max()), b + (1 - b) * x


def _drawn_with_replacement(plan: PlanCodes, level: _Level, rng: np.random.Generator) -> FloatArray:
    """X - b (D - 1) of `draws` samples of codes: (draws,)."""
    b, found = float(plan.prior.max()), []
    for number in _blocks(plan, level):
        codes = plan.draw_with_replacement(number, rng)
        among = np.broadcast_to(np.arange(len(plan.sizes)), (number, len(plan.sizes)))
        logs = plan.log_shares(codes)
        weights = plan.log_weights(codes, among, number=level.samples, rng=rng)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        joint = shares * np.exp(weights).mean(axis=2) / shares.sum(axis=1, keepdims=True)
        found.append(joint.max(axis=1) - b * (joint.sum(axis=1) - 1))
    return np.concatenate(found)


def _posteriors(plan: PlanCodes, level: _Level, rng: np.random.Generator) -> FloatArray:
    """V of `draws` samples of codes: (draws,). The true class comes first, others at random."""
    found, k = [], len(plan.sizes)
    for number in _blocks(plan, level):
        drawn = plan.draw(number, rng)
        steps = rng.permuted(np.tile(np.arange(1, k), (number, 1)), axis=1)[:, : level.classes - 1]
        among = np.hstack([drawn.classes[:, None], (drawn.classes[:, None] + steps) % k])
        weights = plan.log_weights(
            drawn.codes, among, number=level.samples, rng=rng, truth=drawn.records
        )
        logs = np.take_along_axis(plan.log_shares(drawn.codes), among, axis=1)
        joint = logs[:, :, None] + weights
        each = np.exp(joint - joint.max(axis=(1, 2), keepdims=True)).mean(axis=2)
        found.append(each.max(axis=1) / each.sum(axis=1))
    return np.concatenate(found)


def _blocks(plan: PlanCodes, level: _Level) -> list[int]:
    """The draws, in blocks of bounded memory."""
    block = max(_BLOCK // max(level.classes * level.samples, len(plan.sizes)), 1)
    return [min(block, level.draws - start) for start in range(0, level.draws, block)]
