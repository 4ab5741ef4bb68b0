"""p-values of gains, under the hypothesis that a column reveals nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Units = npt.NDArray[np.int64]
ROUNDING = 1e-12  # a gain this small is a rounding error, even if all units have it


def chance_of_gain(gain: FloatArray, units: Units | None = None) -> float:
    """The one-sided p-value of a mean gain, under an expected gain of zero.

    For gains of -1, 0 and 1: the exact sign test of wins against losses. Otherwise: Student's t of
    the mean. With `units`, the gains of each unit are summed first, and t is over the units.
    """
    from scipy.stats import binom
    from scipy.stats import t as student

    if units is not None:
        gain = np.bincount(units, weights=gain).astype(np.float64)
    elif np.isin(gain, (-1.0, 0.0, 1.0)).all():
        wins, losses = int((gain > 0).sum()), int((gain < 0).sum())
        return float(binom.sf(wins - 1, wins + losses, 0.5)) if wins else 1.0
    n, mean = len(gain), float(gain.mean())
    if n < 2 or mean <= ROUNDING:
        return 1.0
    # If all units gain the same there is no spread; they still count as n findings, not infinity.
    spread = max(float(gain.std(ddof=1)), abs(mean) / np.sqrt(n))
    return float(student.sf(mean / (spread / np.sqrt(n)), n - 1))


def lower_limit(right: npt.NDArray[np.bool_], units: Units | None, level: float) -> float:
    """A lower confidence limit of the share of right guesses, at confidence 1 - level."""
    from scipy.stats import beta
    from scipy.stats import t as student

    n, hits = len(right), int(right.sum())
    by_record = float(beta.ppf(level, hits, n - hits + 1)) if hits else 0.0
    if units is None:
        return by_record
    size = np.bincount(units).astype(np.float64)
    share = hits / n
    off = np.bincount(units, weights=right) - share * size
    k = len(size)
    if k < 2:
        return 0.0
    error = float(np.sqrt(k / (k - 1) * np.square(off).sum()) / n)
    return float(np.clip(min(by_record, share - student.ppf(1 - level, k - 1) * error), 0, 1))
