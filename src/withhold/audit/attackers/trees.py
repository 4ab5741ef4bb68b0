"""`trees`: gradient-boosted trees on the features. Reads thresholds and interactions."""

from __future__ import annotations

import warnings
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
    log_shares,
    per_label,
)
from withhold.audit.metrics import row_entropy
from withhold.records.attribute import Attribute


@attacker
@dataclass(frozen=True)
class Trees(Attacker):
    """scikit-learn's histogram boosting; stops when val no longer improves.

    A round grows one tree per class, so many classes on many features would take hours. If there
    are more than `widest` features, only those with the most bits on the attribute are used (each
    binned, one by one). `budget` limits the rounds: with 16,000 records, 60 classes get about
    thirty rounds and 1,000 classes none. The attacker is then skipped, and the audit says so.
    """

    name: ClassVar[str] = "trees"
    view: ClassVar[ViewName] = "standard"
    raw: ClassVar[bool] = True  # also a model of the originals
    rounds: int = 200
    widest: int = 64
    patience: int = 6
    budget: float = 2e9  # features x records x trees, about 15 seconds

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> TreesPrediction:
        """Boost on the labelled records until val no longer improves."""
        labels = per_label(attribute)
        pairs = zip(labels, per_label(attribute_val), strict=True)
        models = []
        for a, v in pairs:
            columns = telling(x, a, self.widest)
            known, judged = a.known, v.known & np.isin(v.codes, a.codes[a.known])
            present = np.unique(a.codes[known])
            if len(present) < 2:
                models.append((columns, None, present, log_shares(a)))
                continue
            rounds = self._rounds(int(known.sum()), len(columns), len(present)) // len(labels)
            model = _boost(
                x[known][:, columns],
                a.codes[known],
                x_val[judged][:, columns],
                v.codes[judged],
                rounds=rounds,
                patience=self.patience,
                seed=seed,
            )
            models.append((columns, model, present, log_shares(a)))
        return TreesPrediction(tuple(models), attribute.multilabel)

    def cost(self, n: int, d: int, classes: int) -> float:
        """Features x records x trees."""
        trees = classes if classes > 2 else 1
        work = n * min(d, self.widest) * trees * self._rounds(n, min(d, self.widest), classes)
        return 0.3 + work / 1.5e8

    def declines(self, n: int, d: int, classes: int) -> str | None:
        """Decline if the budget allows fewer than five rounds, or classes have too few records."""
        crowded = classes > 100 and n < 8 * classes
        if crowded or self._rounds(n, min(d, self.widest), classes) < 5:
            return f"{classes:,} classes of {n:,} records are too many for boosted trees"
        return None

    def _rounds(self, n: int, d: int, classes: int) -> int:
        trees = classes if classes > 2 else 1
        return int(min(self.rounds, self.budget / max(n * d * trees, 1)))


@dataclass(frozen=True, eq=False)
class TreesPrediction(FittedAttacker):
    """Boosted trees for a categorical attribute, or for each label."""

    models: tuple[tuple[npt.NDArray[np.int64], Any, npt.NDArray[np.int64], FloatArray], ...]
    multilabel: bool

    def logits(self, x: FloatArray) -> FloatArray:
        """Log-probabilities of each class, (n, k)."""
        found = []
        for columns, model, present, shares in self.models:
            out = np.broadcast_to(shares - 10, (len(x), len(shares))).astype(np.float32)
            if model is None:
                out = out + 10
            else:
                log_p = np.log(np.clip(model.predict_proba(x[:, columns]), 1e-9, None))
                out[:, present] = log_p
            found.append(out)
        if not self.multilabel:
            return found[0]
        return np.stack([out[:, 1] - out[:, 0] for out in found], axis=1)


def telling(x: FloatArray, attribute: Attribute, most: int) -> npt.NDArray[np.int64]:
    """The `most` features with the highest mutual information with the attribute, in 16 bins."""
    d = x.shape[1]
    if d <= most:
        return np.arange(d)
    rows = np.flatnonzero(attribute.known)[:20000]
    codes, classes, bins = attribute.codes[rows], len(attribute.classes), 16
    bits = np.empty(d)
    prior = row_entropy(np.bincount(codes, minlength=classes)[None])
    for start in range(0, d, 64):
        piece = x[rows, start : start + 64]
        edges = np.quantile(piece[:4000], np.arange(1, bins) / bins, axis=0)
        for i in range(piece.shape[1]):
            binned = np.searchsorted(edges[:, i], piece[:, i])
            table = np.bincount(binned * classes + codes, minlength=bins * classes)
            table = table.reshape(bins, classes)
            weight = table.sum(axis=1) / len(codes)
            bits[start + i] = prior[0] - (weight * row_entropy(table)).sum()
    return np.sort(np.argsort(-bits, kind="stable")[:most])


def _boost(
    x: FloatArray,
    codes: npt.NDArray[np.int64],
    x_val: FloatArray,
    codes_val: npt.NDArray[np.int64],
    *,
    rounds: int,
    patience: int,
    seed: int,
) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    few = rounds < 40
    stop = len(codes_val) > 0
    model = HistGradientBoostingClassifier(
        learning_rate=0.3 if few else 0.2,
        max_iter=max(rounds, 1),
        max_leaf_nodes=31,
        min_samples_leaf=min(20, max(len(codes) // (4 * len(np.unique(codes))), 1)),
        early_stopping=stop,
        n_iter_no_change=patience,
        random_state=seed % 2**31,
    )
    with warnings.catch_warnings():
        # An attribute of many classes may have more of them than half of the records.
        warnings.filterwarnings("ignore", "The number of unique classes")
        return model.fit(x, codes, X_val=x_val, y_val=codes_val) if stop else model.fit(x, codes)
