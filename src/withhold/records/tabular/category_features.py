"""A column of categories as one feature per value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.records.tabular.column_values import MISSING, Places

MOST_VALUES = 64  # features; beyond this, the rarer values share one


@dataclass(frozen=True, slots=True)
class CategoryFeatures:
    """One-hot features times `scale`, which gives them together a variance of 1.

    With more than `MOST_VALUES` values, the most frequent 63 have a feature each, all others share
    one, and the last feature is the standardised logarithm of the frequency of the value.
    """

    feature: tuple[int, ...]  # of each value of the column
    frequency: tuple[float, ...] | None  # of each value, standardised; the last: any other value
    missing: int | None  # the feature of missing values, if the fitted table has some
    onehot: int  # the number of one-hot features
    scale: float

    @classmethod
    def fit(cls, place: Places, *, values: int) -> CategoryFeatures | None:
        """place: (n,) in 0..values-1, or -1 for missing; None if all records have one value."""
        known = place[place != MISSING]
        counts = np.bincount(known[known < values], minlength=values)
        gone = int((place == MISSING).sum())
        if values + (gone > 0) <= 1:
            return None
        feature, features = np.arange(values), values
        frequency: npt.NDArray[np.float64] | None = None
        variance = 0.0
        if values > MOST_VALUES:
            features = MOST_VALUES
            feature = np.full(values, features - 1)
            feature[np.argsort(-counts, kind="stable")[: features - 1]] = np.arange(features - 1)
            frequency, variance = _standard_frequency(counts)
        weight = np.bincount(feature, counts, minlength=features)
        share = np.append(weight, gone) / max(len(place), 1)
        variance += float((share * (1 - share)).sum())
        return cls(
            feature=tuple(feature.tolist()),
            frequency=None if frequency is None else tuple(frequency.tolist()),
            missing=features if gone else None,
            onehot=features + (gone > 0),
            scale=1 / float(np.sqrt(variance)) if variance > 0 else 1.0,
        )

    @property
    def width(self) -> int:
        """The number of features."""
        return self.onehot + (self.frequency is not None)

    def encode(self, place: Places, out: npt.NDArray[np.float32]) -> None:
        """Write the features of place: (n,) into out: (n, width).

        A value that the fitted table did not have shares the feature of the rarer values; if there
        is none, all its features are 0.
        """
        out[:] = 0
        none = self.onehot  # stands for: no feature
        unseen = none if self.frequency is None else MOST_VALUES - 1
        gone = none if self.missing is None else self.missing
        target = np.array([*self.feature, unseen, gone])[place]  # place -1: the last, missing
        rows = np.flatnonzero(target < none)
        out[rows, target[rows]] = self.scale
        if self.frequency is not None:
            # A missing value has no frequency: the mean of the others, which is 0.
            out[:, self.onehot] = np.array([*self.frequency, 0.0])[place] * self.scale

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "feature": list(self.feature),
            "frequency": None if self.frequency is None else list(self.frequency),
            "missing": self.missing,
            "onehot": self.onehot,
            "scale": self.scale,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> CategoryFeatures:
        """The features that `to_json` wrote."""
        return cls(
            feature=tuple(told["feature"]),
            frequency=None if told["frequency"] is None else tuple(told["frequency"]),
            missing=told["missing"],
            onehot=int(told["onehot"]),
            scale=float(told["scale"]),
        )


def _standard_frequency(counts: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], float]:
    """Standardised log-frequencies (values + 1,), and their weight in the variance of the column.

    The weight is small, 0.1, since values of one frequency have little in common.
    """
    log = np.log(np.append(np.maximum(counts, 0.5), 0.5))
    share = counts / max(counts.sum(), 1)
    mean = float(share @ log[:-1])
    variance = float(share @ (log[:-1] - mean) ** 2)
    weight = 0.1
    scale = np.sqrt(weight / variance) if variance > 0 else 0.0
    return (log - mean) * scale, weight if variance > 0 else 0.0
