"""How well an attacker did: accuracies on held-out records, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score

from withhold.attribute import Attribute

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Score:
    """accuracy with its 95 % interval; balanced accuracy; mean average precision (multi-label)."""

    accuracy: float
    ci: tuple[float, float]
    balanced_accuracy: float
    cmap: float | None = None


def score(logits: FloatArray, truth: Attribute) -> Score:
    """Score logits (n, k) against the labels of the same n records; missing labels are left out.

    Multi-label: accuracy is the share of labels right at probability 0.5, and cmap is the macro
    mean of the average precisions of the labels that have both outcomes.
    """
    codes = truth.codes
    if truth.multilabel:
        known = codes >= 0
        right = ((logits > 0) == (codes == 1))[known]
        accuracy, _ = _share(right)
        # The labels of one record are not independent: the interval counts records.
        records = int(known.any(axis=1).sum())
        interval = wilson(accuracy * records, records) if records else (0.0, 1.0)
        return Score(accuracy, interval, _balanced_labels(logits, codes), _cmap(logits, codes))
    known = codes >= 0
    guess, codes = logits[known].argmax(axis=1), codes[known]
    right = guess == codes
    hits = np.bincount(codes[right], minlength=len(truth.classes))
    seen = np.bincount(codes, minlength=len(truth.classes))
    balanced = float((hits[seen > 0] / seen[seen > 0]).mean()) if len(codes) else float("nan")
    return Score(*_share(right), balanced)


def wilson(right: float, n: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share: sound at 0 and 1, where the normal one has no width."""
    if n == 0:
        return (0.0, 1.0)
    z = 1.959963985
    p = right / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At 0 and 1 the share is an end of its interval, but rounding may put it just outside.
    return (float(min(max(centre - half, 0.0), p)), float(max(min(centre + half, 1.0), p)))


def _share(right: npt.NDArray[np.bool_]) -> tuple[float, tuple[float, float]]:
    n = len(right)
    hits = int(right.sum())
    return (hits / n if n else float("nan"), wilson(hits, n))


def _balanced_labels(logits: FloatArray, codes: npt.NDArray[np.int64]) -> float:
    rates = []
    for outcome in (0, 1):
        for k in range(codes.shape[1]):
            mine = codes[:, k] == outcome
            if mine.any():
                rates.append(float(((logits[mine, k] > 0) == (outcome == 1)).mean()))
    return float(np.mean(rates)) if rates else float("nan")


def _cmap(logits: FloatArray, codes: npt.NDArray[np.int64]) -> float | None:
    values = []
    for k in range(codes.shape[1]):
        known = codes[:, k] >= 0
        if known.any() and 0 < codes[known, k].mean() < 1:
            values.append(average_precision_score(codes[known, k], logits[known, k]))
    return float(np.mean(values)) if values else None
