"""A column of numbers as one feature, and a second one if values are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
LARGE_SKEW = 2.0  # from here on the values are replaced by their normal scores
FARTHEST = 8.0  # in robust standard deviations: linear features are clipped here
FARTHEST_SCORE = 3.0  # the same for normal scores
MOST_KNOTS = 256
_HUGE = 1e100  # larger values would overflow when squared


@dataclass(frozen=True, slots=True)
class NumberFeatures:
    """z = (f(x) - mean) / scale, and missing / scale; f is linear between knots and flat beyond.

    `scale` gives both features together a variance of 1 in the fitted table. A missing x becomes
    the median.
    """

    at: tuple[float, ...]  # the knots: f(at) = score
    score: tuple[float, ...]
    median: float
    mean: float
    scale: float
    indicator: bool  # whether there is a feature for missing values

    @classmethod
    def fit(cls, x: Floats) -> NumberFeatures | None:
        """x: (n,) with NaN for missing; None if there is nothing to tell the records apart."""
        gone = np.isnan(x)
        known = np.clip(x[~gone], -_HUGE, _HUGE)
        share = float(gone.mean()) if len(x) else 0.0
        if not len(known) or (share == 0 and known.min() == known.max()):
            return None
        median = float(np.median(known))
        at, score = _normal_scores(known) if _is_skewed(known) else _linear(known, median)
        made = np.interp(np.where(gone, median, np.clip(x, -_HUGE, _HUGE)), at, score)
        variance = float(made.var()) + share * (1 - share)
        return cls(
            at=tuple(at.tolist()),
            score=tuple(score.tolist()),
            median=median,
            mean=float(made.mean()),
            scale=float(np.sqrt(variance)) if variance > 0 else 1.0,
            indicator=share > 0,
        )

    @property
    def width(self) -> int:
        """The number of features."""
        return 2 if self.indicator else 1

    def encode(self, x: Floats, out: npt.NDArray[np.float32]) -> None:
        """Write the features of x: (n,) into out: (n, width)."""
        gone = np.isnan(x)
        filled = np.where(gone, self.median, np.clip(x, -_HUGE, _HUGE))
        out[:, 0] = (np.interp(filled, self.at, self.score) - self.mean) / self.scale
        if self.indicator:
            out[:, 1] = gone / self.scale

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "at": list(self.at),
            "score": list(self.score),
            "median": self.median,
            "mean": self.mean,
            "scale": self.scale,
            "indicator": self.indicator,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> NumberFeatures:
        """The features that `to_json` wrote."""
        return cls(
            at=tuple(told["at"]),
            score=tuple(told["score"]),
            median=float(told["median"]),
            mean=float(told["mean"]),
            scale=float(told["scale"]),
            indicator=bool(told["indicator"]),
        )


def _is_skewed(x: Floats) -> bool:
    spread = float(x.std())
    if spread < 1 / _HUGE:
        return False
    return abs(float((((x - x.mean()) / spread) ** 3).mean())) > LARGE_SKEW


def _linear(x: Floats, median: float) -> tuple[Floats, Floats]:
    """Robust standard deviations from the median."""
    low, high = np.quantile(x, [0.25, 0.75])
    spread = float(high - low) / 1.349 or float(x.std())  # 1.349: the same for a normal variable
    ends = np.array([-FARTHEST, FARTHEST])
    at = median + ends * max(spread, 1 / _HUGE)
    # Beside a large median, a tiny spread may vanish.
    return (at, ends) if at[0] < at[1] else (np.array([median, median + 1.0]), np.array([0.0, 1.0]))


def _normal_scores(x: Floats) -> tuple[Floats, Floats]:
    """The normal quantile of the middle of each value's step in the distribution function.

    Scikit-learn's QuantileTransformer sends the smallest value to the far end, even where it is the
    value of most records (a capital gain of 0). The middle of its step keeps it near the median.
    """
    from scipy.special import ndtri

    values, counts = np.unique(x, return_counts=True)
    upto = np.cumsum(counts)
    middle = (upto - counts / 2) / len(x)
    if len(values) > MOST_KNOTS:
        chosen = np.searchsorted(middle, np.linspace(0, middle[-1], MOST_KNOTS))
        chosen = np.unique(chosen)
        values, middle = values[chosen], middle[chosen]
    return values, np.clip(ndtri(middle), -FARTHEST_SCORE, FARTHEST_SCORE)
