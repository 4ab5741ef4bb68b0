"""`kernel`: Nyström features of an RBF kernel, and a logistic regression on them."""

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
from withhold.audit.attackers.logistic import LinearPrediction, fit_linear
from withhold.records.attribute import Attribute


@attacker
@dataclass(frozen=True)
class Kernel(Attacker):
    """Similarities exp(-|x - l|² / 2σ²) to some records l of train; σ is chosen on val.

    σ is a multiple of the median distance between records. Ridge regression, which has a closed
    form, chooses the multiple; the logistic regression is then fitted once.
    """

    name: ClassVar[str] = "kernel"
    view: ClassVar[ViewName] = "reduced"
    raw: ClassVar[bool] = True  # also a model of the originals
    landmarks: int = 600
    widths: tuple[float, ...] = (1.0, 0.5, 0.25)
    flops: float = 2e11

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> KernelPrediction:
        """Choose σ by ridge regression on val, then fit the logistic regression."""
        known = attribute.known
        attribute, x = attribute.rows(known), x[known] if not known.all() else x
        rng = np.random.default_rng([seed, 0xCE])
        few = x[rng.permutation(len(x))[: min(len(x), 500)]]
        typical = float(np.median(_squared(few, few)[np.triu_indices(len(few), 1)] + 1e-12))
        typical = typical if np.isfinite(typical) and typical > 0 else 1.0
        targets, held = _targets(attribute), _targets(attribute_val)
        best, chosen = -np.inf, None
        marks = _landmarks(x, self.landmarks, seed)
        apart, apart_val = _squared(x, marks), _squared(x_val, marks)  # the same for every width
        for width in self.widths:
            features = _Features.of(marks, 1 / (typical * width**2))
            seen, seen_val = features.of_distances(apart), features.of_distances(apart_val)
            found = _ridge_value(seen, targets, seen_val, held)
            if chosen is None or found > best:
                best, chosen = found, (features, seen, seen_val)
        assert chosen is not None
        features, seen, seen_val = chosen
        pairs = zip(per_label(attribute), per_label(attribute_val), strict=True)
        heads = [
            fit_linear(seen, a, seen_val, v, strengths=(1.0, 100.0), flops=self.flops)
            for a, v in pairs
        ]
        return KernelPrediction(features, LinearPrediction(tuple(heads), attribute.multilabel))

    def cost(self, n: int, d: int, classes: int) -> float:
        """Kernels, whitening and Gram matrices, then the logistic fit."""
        m = min(self.landmarks, n)
        gram = len(self.widths) * 6.0 * n * m * m + 2.0 * n * m * d
        return 0.2 + gram / 4e10 + min(4.0 * n * m * classes * 160, self.flops * 2) / 5e10


@dataclass(frozen=True, eq=False)
class KernelPrediction(FittedAttacker):
    """Landmarks and a linear map on the similarities to them."""

    features: _Features
    linear: LinearPrediction

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        blocks = np.array_split(x, max(len(x) // 4096, 1))
        return np.concatenate([self.linear.logits(self.features(b)) for b in blocks])


@dataclass(frozen=True, eq=False)
class _Features:
    """K(x, landmarks) K(landmarks, landmarks)^(-1/2), scaled to unit mean square: (n, m)."""

    landmarks: FloatArray
    whitening: FloatArray
    gamma: float

    @classmethod
    def of(cls, landmarks: FloatArray, gamma: float) -> _Features:
        kernel = np.exp(-gamma * _squared(landmarks, landmarks)).astype(np.float64)
        values, vectors = np.linalg.eigh(kernel)
        keep = values > 1e-6 * max(values[-1], 1e-12)
        whitening = vectors[:, keep] / np.sqrt(values[keep]) * np.sqrt(len(landmarks))
        return cls(landmarks, whitening.astype(np.float32), gamma)

    def __call__(self, x: FloatArray) -> FloatArray:
        return self.of_distances(_squared(x, self.landmarks))

    def of_distances(self, squared: FloatArray) -> FloatArray:
        """The same, from the squared distances (n, m) to the landmarks."""
        kernel: FloatArray = np.exp(-self.gamma * squared)
        return np.asarray(kernel @ self.whitening, np.float32)


def _landmarks(x: FloatArray, count: int, seed: int) -> FloatArray:
    rng = np.random.default_rng([seed, 0xCF])
    return x[rng.permutation(len(x))[:count]]


def _squared(a: FloatArray, b: FloatArray) -> FloatArray:
    """Squared distances (n, m)."""
    out: FloatArray = np.asarray(a @ b.T, np.float32)
    out *= -2
    out += np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)[None]
    return np.maximum(out, 0.0, out=out)


def _targets(attribute: Attribute) -> npt.NDArray[np.float32]:
    """One column per class, 1 or 0 (per label, 1 or -1); all zero if unknown."""
    if attribute.multilabel:
        return np.asarray(2.0 * (attribute.codes == 1) - (attribute.codes >= 0), np.float32)
    hot = np.zeros((len(attribute.codes), len(attribute.classes)), np.float32)
    known = attribute.known
    hot[np.flatnonzero(known), attribute.codes[known]] = 1
    return hot


def _ridge_value(x: FloatArray, y: Any, x_val: FloatArray, y_val: Any) -> float:
    """Negative squared error of a ridge regression on val (penalty: 1e-3 of the mean variance)."""
    mean = y.mean(axis=0)
    gram = (x.T @ x).astype(np.float64)
    gram[np.diag_indices_from(gram)] += 1e-3 * np.trace(gram) / len(gram) + 1e-9
    weight = np.linalg.solve(gram, (x.T @ (y - mean)).astype(np.float64)).astype(np.float32)
    judged = y_val.any(axis=1)
    if not judged.any():
        return 0.0
    left = y_val[judged] - mean - x_val[judged] @ weight
    return float(-np.square(left).mean())
