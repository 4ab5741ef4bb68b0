"""`waves`: periodic functions of single features. Reads a sawtooth finer than any bin of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    ViewName,
    attacker,
    per_label,
)
from withhold.audit.attackers.trees import Trees
from withhold.records.attribute import Attribute

_ROWS = 20_000
_WIDEST = 256
Array = npt.NDArray[np.float64]


@attacker
@dataclass(frozen=True)
class Waves(Attacker):
    """Trees on the phases of the frequencies at which the classes differ most.

    For a feature u scaled to 0..1 and a class c of share p, the periodogram

        P(f) = |sum_i (1[s_i = c] - p) exp(-2 pi i f u_i)|² / (n p (1 - p))

    is about exponential with mean 1 if u reveals nothing at frequency f. It is computed for all
    whole f below `bins` / 2 at once, by a Fourier transform of a histogram of `bins` bins. The
    phases f u mod 1 of the `most` highest peaks go to the trees, with their cosines and sines.
    """

    name: ClassVar[str] = "waves"
    view: ClassVar[ViewName] = "raw"
    bins: int = 1 << 14
    most: int = 8
    rounds: int = 40

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> WavesPrediction:
        """Find the frequencies on train, then fit the trees."""
        first = x[:, :_WIDEST]  # only these features are searched for frequencies
        low, size = _range(first)
        peaks = self._peaks((first.astype(np.float64) - low) / size, attribute)
        chosen = WavesPrediction(low, size, peaks, None)
        trees = Trees(rounds=self.rounds, patience=4)
        fitted = trees.fit(
            chosen.phases(x), attribute, chosen.phases(x_val), attribute_val, seed=seed
        )
        return WavesPrediction(low, size, peaks, fitted)

    def declines(self, n: int, d: int, classes: int) -> str | None:
        """Decline if there are too many classes for trees."""
        return Trees().declines(n, 3 * self.most, classes)

    def cost(self, n: int, d: int, classes: int) -> float:
        """A transform for each of the first features and classes, then small trees."""
        d, classes = min(d, _WIDEST), min(classes, 20)
        return 0.1 + d * classes * (self.bins * 1e-7 + min(n, _ROWS) * 2e-8) + n * classes * 1e-5

    def _peaks(self, u: Array, attribute: Attribute) -> Array:
        """Feature and frequency of the highest peaks, (most, 2)."""
        found: list[tuple[float, int, int]] = []
        for a in per_label(attribute)[:20]:
            rows = np.flatnonzero(a.known)[:_ROWS]
            common = np.argsort(-a.counts, kind="stable")[: 1 if len(a.classes) == 2 else 20]
            # The place of each class among the common ones; all others share the last place.
            place = np.full(len(a.classes), len(common))
            place[common] = np.arange(len(common))
            target = place[a.codes[rows]]
            p = np.bincount(target, minlength=len(common) + 1)[:-1, None] / max(len(rows), 1)
            scale = np.maximum(len(rows) * p * (1 - p), 1e-9)
            for j in range(u.shape[1]):
                at = np.clip((u[rows, j] * self.bins).astype(np.int64), 0, self.bins - 1)
                size = (len(common) + 1) * self.bins
                table = np.bincount(target * self.bins + at, minlength=size).reshape(-1, self.bins)
                wave = np.fft.rfft(table[:-1] - p * table.sum(axis=0))[:, 1:-1]
                power = (np.square(wave.real) + np.square(wave.imag)) / scale  # (classes, f)
                for best, strength in zip(np.argpartition(-power, 2)[:, :2], power, strict=True):
                    found += [(float(strength[f]), j, int(f) + 1) for f in best]
        found.sort(key=lambda peak: -peak[0])
        places = list(dict.fromkeys((j, f) for _, j, f in found))[: self.most]
        return np.asarray(places, np.float64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class WavesPrediction(FittedAttacker):
    """The scale of the features, the chosen frequencies, and trees on their phases."""

    low: Array
    size: Array
    peaks: Array
    trees: Any

    def phases(self, x: FloatArray) -> FloatArray:
        """Phases in turns, cosines and sines: (n, 3 most)."""
        j, f = self.peaks[:, 0].astype(np.int64), self.peaks[:, 1]
        turns = (x[:, j].astype(np.float64) - self.low[j]) / self.size[j] * f
        angle = 2 * np.pi * turns
        out: FloatArray = np.concatenate(
            [turns % 1, np.cos(angle), np.sin(angle)], axis=1, dtype=np.float32, casting="same_kind"
        )
        return out

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        said: FloatArray = self.trees.logits(self.phases(x))
        return said


def _range(x: FloatArray) -> tuple[Array, Array]:
    """Least value and range of each feature, without outliers."""
    sample = x[:: max(len(x) // 5000, 1)].astype(np.float64)
    low, high = np.quantile(sample, [0.002, 0.998], axis=0, method="nearest")
    return low, np.where(high > low, high - low, 1.0)
