"""95 % intervals: of a share in closed form, of anything else by resampling units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Not scipy.stats, which gives the same quantiles and takes half a second to import.
from scipy.special import betaincinv, ndtri, stdtrit

FloatArray = npt.NDArray[np.float64]
_MANY = 2000
_HANDFUL = 8
SURE = 0.995  # the confidence at which a finding is called readable
Z_95, Z_995 = 1.959963985, 2.575829304  # two-sided 95 %, one-sided 99.5 %


def wilson(right: float, n: float, *, z: float = Z_95) -> tuple[float, float]:
    """The 95 % Wilson interval of a share; at 0 and 1 the normal interval would have no width."""
    if n == 0:
        return (0.0, 1.0)
    p = right / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At 0 and 1 the share is an end of the interval, but rounding may put it just outside.
    return (float(min(max(centre - half, 0.0), p)), float(max(min(centre + half, 1.0), p)))


def share(
    right: npt.NDArray[np.bool_],
    units: npt.NDArray[np.int64] | None,
    *,
    level: float = SURE,
) -> tuple[float, tuple[float, float], float]:
    """A share of records, its 95 % interval, and its lower bound at confidence `level`.

    Without `units`, this is the Wilson interval. With `units` (a person per record) the records of
    one person are not independent. The Wilson interval then uses the effective sample size
    n_eff = p (1 - p) / V with V = k/(k-1) sum_k (hits_k - p size_k)² / n² over k people, and
    Student's t with k - 1 degrees of freedom in place of the normal. The interval is never
    narrower than the one by record. Resampling people would be overconfident for few people.
    """
    n = len(right)
    value = float(right.mean()) if n else float("nan")
    z_level = Z_995 if level == SURE else float(ndtri(level))
    interval, least = wilson(right.sum(), n), wilson(right.sum(), n, z=z_level)[0]
    if units is None or n == 0:
        return value, interval, least
    _, member = np.unique(units, return_inverse=True)
    size = np.bincount(member).astype(float)
    hits = np.bincount(member, weights=right)
    people = len(size)
    if people == 1:  # one person says nothing about others
        return value, (0.0, 1.0), 0.0
    spread = people / (people - 1) * np.square(hits - value * size).sum() / n**2
    if spread > 0:
        # With a handful of people the spread is itself uncertain: count each person once.
        most = float(people) if people < _HANDFUL else float(n)
        independent = min(value * (1 - value) / spread, most)
        z95, z_level = (float(stdtrit(people - 1, p)) for p in (0.975, level))
    else:  # people do not differ: count each person once
        independent, z95 = float(people), Z_95
    wide = wilson(value * independent, independent, z=z95)
    sure = wilson(value * independent, independent, z=z_level)[0]
    return value, hull(interval, wide), min(least, sure)


@dataclass(frozen=True)
class PairedGain:
    """How much more one attacker is right than another on the same records."""

    mean: float
    ci: tuple[float, float]  # 95 %
    least: float  # the gain is above this with confidence `SURE`


def paired_gain(
    before: npt.NDArray[np.bool_],
    after: npt.NDArray[np.bool_],
    units: npt.NDArray[np.int64] | None,
) -> PairedGain:
    """The mean of d_i = after_i - before_i, with two intervals, of which the wider limit counts.

    Student's t of the mean over k units (records, or people): V = k/(k-1) sum_k (sum d - mean d
    size_k)² / n². And McNemar's test, which is exact for few records: of the m records on which the
    two differ, the share p on which `after` is right has a binomial interval (Clopper and Pearson);
    the gain is (2 p - 1) m / n.
    """
    d = after.astype(np.float64) - before
    n, mean = len(d), float(d.mean()) if len(d) else 0.0
    member = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1]
    people = int(member.max(initial=-1)) + 1
    if people < 2:  # one person says nothing about others
        return PairedGain(mean, (-1.0, 1.0), -1.0)
    sums = np.bincount(member, weights=d) - mean * np.bincount(member)
    error = float(np.sqrt(people / (people - 1) * np.square(sums).sum()) / n)
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    differ = wins + losses

    def least(level: float) -> float:
        exact = (2 * exact_least(wins, differ, level) - 1) * differ / n
        return min(mean - float(stdtrit(people - 1, level)) * error, exact)

    most = (1 - 2 * exact_least(losses, differ, 0.975)) * differ / n
    high = max(mean + float(stdtrit(people - 1, 0.975)) * error, most)
    return PairedGain(mean, (least(0.975), high), least(SURE))


def resamples(
    n: int, units: npt.NDArray[np.int64] | None, *, seed: int = 0, draws: int = 400
) -> Iterator[npt.NDArray[np.float32]]:
    """Blocks of bootstrap weights (b, n): how often each record is in each of `draws` resamples.

    Records are drawn with replacement; with `units`, whole units are drawn.
    """
    rng = np.random.default_rng([seed, 0xB008])
    member = None if units is None else np.unique(units, return_inverse=True)[1]
    size = n if member is None else int(member.max(initial=-1)) + 1
    block = max(min(draws, 8_000_000 // max(n, 1)), 1)
    for start in range(0, draws, block):
        count = min(block, draws - start)
        if size > _MANY:  # Poisson counts are quicker, and their total is nearly the same
            drawn = rng.poisson(1.0, size=(count, size)).astype(np.float32)
        else:
            drawn = rng.multinomial(size, np.full(size, 1 / size), size=count).astype(np.float32)
        yield drawn if member is None else drawn[:, member]


def hull(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """The smallest interval that contains both."""
    return (min(a[0], b[0]), max(a[1], b[1]))


def shared(looks: int) -> float:
    """The level for each of several tests, so that together they keep confidence `SURE`
    (Bonferroni)."""
    return 1 - (1 - SURE) / max(looks, 1)


def exact_least(right: int, n: int, level: float) -> float:
    """The exact lower bound of a share at confidence `level` (Clopper and Pearson)."""
    return float(betaincinv(right, n - right + 1, 1 - level)) if right else 0.0


def surely_above(share: float, least: float, bound: float, *, level: float) -> bool:
    """Whether a share is above a bound at confidence `level`, given its limit `least` at `SURE`.

    A Wilson limit is the p at which z(p) = (share - p) / sqrt(p (1 - p) / n) reaches the quantile
    of its confidence. z(bound) / z(least) does not depend on n, so neither records nor people have
    to be counted again.
    """
    if share <= bound or bound >= 1:
        return False
    if least <= 0 or share <= least:
        return least > bound

    def z(p: float) -> float:
        return (share - p) / float(np.sqrt(p * (1 - p)))

    return bound <= 0 or Z_995 * z(bound) / z(least) > float(ndtri(level))
