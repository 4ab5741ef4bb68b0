"""`logistic`: the linear probe, on every feature."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    ViewName,
    attacker,
    log_shares,
    per_label,
)
from withhold.records.attribute import Attribute


@attacker
@dataclass(frozen=True)
class Logistic(Attacker):
    """Multinomial logistic regression; the strength of its L2 penalty is chosen on val."""

    name: ClassVar[str] = "logistic"
    view: ClassVar[ViewName] = "standard"
    raw: ClassVar[bool] = True  # also a model of the originals
    strengths: tuple[float, ...] = (0.003, 0.3)
    flops: float = 4e11

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> LinearPrediction:
        """Fit from the strongest penalty to the weakest, each starting from the previous fit."""
        pairs = zip(per_label(attribute), per_label(attribute_val), strict=True)
        heads = [
            fit_linear(x, a, x_val, v, strengths=self.strengths, flops=self.flops) for a, v in pairs
        ]
        return LinearPrediction(tuple(heads), attribute.multilabel)

    def cost(self, n: int, d: int, classes: int) -> float:
        """Iterations are capped by `flops`."""
        return 0.05 + min(4.0 * n * d * classes * 80 * len(self.strengths), self.flops * 2) / 5e10


@dataclass(frozen=True, eq=False)
class LinearPrediction(FittedAttacker):
    """A linear map for a categorical attribute, or one for each label."""

    heads: tuple[tuple[FloatArray, FloatArray], ...]  # (d, k) and (k,) each
    multilabel: bool

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        if not self.multilabel:
            weight, bias = self.heads[0]
            return x @ weight + bias
        odds = [(x @ w + b)[:, 1] - (x @ w + b)[:, 0] for w, b in self.heads]
        return np.stack(odds, axis=1).astype(np.float32)


def fit_linear(
    x: FloatArray,
    attribute: Attribute,
    x_val: FloatArray,
    attribute_val: Attribute,
    *,
    strengths: Sequence[float],
    flops: float,
) -> tuple[FloatArray, FloatArray]:
    """Weights (d, k) and bias (k,) of the multinomial fit with the least cross-entropy on val.

    `strengths` are scikit-learn's inverse penalties C, per 1,000 records, from strong to weak
    penalty. `flops` caps the work: an attacker that has not quite converged is still useful.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    known = attribute.known
    present = np.unique(attribute.codes[known])
    if len(present) < 2:
        return np.zeros((x.shape[1], len(attribute.classes)), np.float32), log_shares(attribute)
    features, codes = (x, attribute.codes) if known.all() else (x[known], attribute.codes[known])
    judged = attribute_val.known & np.isin(attribute_val.codes, present)
    per_step = 4.0 * features.shape[0] * features.shape[1] * max(len(present), 2)
    steps = int(np.clip(flops / per_step / len(strengths), 15, 150))
    model: Any = None
    best, chosen = np.inf, None
    for strength in strengths:
        start = model
        model = LogisticRegression(
            C=strength * 1000 / len(codes), max_iter=steps, tol=1e-3, warm_start=True
        )
        if start is not None:
            model.coef_, model.intercept_ = start.coef_.copy(), start.intercept_.copy()
            model.classes_ = start.classes_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes")
            model.fit(features, codes)
        found = _full(model, present, len(attribute.classes), log_shares(attribute))
        spent = _cross_entropy(
            x_val[judged] @ found[0] + found[1], attribute_val.codes[judged], present
        )
        if chosen is None or spent < best:
            best, chosen = spent, found
    assert chosen is not None
    return chosen


def _full(
    model: Any, present: Any, classes: int, shares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Weights for every class; classes that train never saw get zero weights and a low bias."""
    d = model.coef_.shape[1]
    weight, bias = np.zeros((d, classes), np.float32), shares - 10.0
    if len(present) == 2 and model.coef_.shape[0] == 1:
        weight[:, present[1]] = model.coef_[0]
        bias[present] = [0.0, model.intercept_[0]]
    else:
        weight[:, present] = model.coef_.T
        bias[present] = model.intercept_
    return weight, bias.astype(np.float32)


def _cross_entropy(logits: FloatArray, codes: Any, present: Any) -> float:
    if not len(codes):
        return 0.0
    top = logits.max(axis=1, keepdims=True)
    log_p = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return float(-log_p[np.arange(len(codes)), codes].mean())
