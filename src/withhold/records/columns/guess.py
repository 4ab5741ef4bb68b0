"""Small, quick models that guess a class from one encoded column.

Each is a function (encoded, train, y, test, classes) -> p: (len(test), classes), where train and
test are row numbers, y: (len(train),) the classes of the training rows, and p sums to 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from withhold.records.columns.column_encoding import EncodedColumn

Codes = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]
Guesser = Callable[[EncodedColumn, Codes, Codes, Codes, int], Probabilities]
WIDEST = 128  # encoded columns passed to the trees
BUDGET = 3e8  # columns x records x trees per fit


def frequency_table(
    encoded: EncodedColumn, train: Codes, y: Codes, test: Codes, classes: int
) -> Probabilities:
    """P(class | value) from counts, with one pseudo-record of the prior; missing is a value."""
    prior = (np.bincount(y, minlength=classes) + 1e-9) / (len(y) + classes * 1e-9)
    value = encoded.codes + 1
    cell, count = np.unique(value[train] * classes + y, return_counts=True)
    total = np.bincount(value[train], minlength=int(value.max(initial=0)) + 1)
    wanted = value[test][:, None] * classes + np.arange(classes)[None, :]
    at = np.minimum(np.searchsorted(cell, wanted), len(cell) - 1)
    counts = np.where(cell[at] == wanted, count[at], 0)
    p: Probabilities = (counts + prior) / (total[value[test]][:, None] + 1)
    return p


def boosted_trees(
    encoded: EncodedColumn, train: Codes, y: Codes, test: Codes, classes: int
) -> Probabilities:
    """Gradient-boosted trees on the encoded column, with as many rounds as the budget allows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = encoded.x
    if x.shape[1] > WIDEST:
        x = x[:, _varied(x[train], y, classes)]
    trees = classes if classes > 2 else 1
    rounds = int(min(32 if classes == 2 else 16, BUDGET / (len(train) * x.shape[1] * trees)))
    present = np.unique(y)
    prior = np.bincount(y, minlength=classes) / len(y)
    if rounds < 3 or len(present) < 2:
        return np.broadcast_to(prior, (len(test), classes)).copy()
    model = HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=rounds,
        max_leaf_nodes=15,
        min_samples_leaf=max(20, len(train) // 500),
        early_stopping=False,
        random_state=0,
    )
    p = np.zeros((len(test), classes))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        p[:, present] = model.fit(x[train], y).predict_proba(x[test])
    return p


def linear_discriminant(
    encoded: EncodedColumn, train: Codes, y: Codes, test: Codes, classes: int
) -> Probabilities:
    """Gaussian classes with one shrunk covariance: log p = log prior + m'S^-1 x - m'S^-1 m / 2."""
    x = encoded.x.astype(np.float64)
    scale = x[train].std(axis=0)
    x = (x - x[train].mean(axis=0)) / np.where(scale > 0, scale, 1)
    x = np.clip(x, -10, 10)
    count = np.bincount(y, minlength=classes)
    hot = np.zeros((len(train), classes))
    hot[np.arange(len(train)), y] = 1
    means = hot.T @ x[train] / np.maximum(count, 1)[:, None]
    within = x[train] - means[y]
    covariance = within.T @ within / len(train)
    shrink = 0.02 + x.shape[1] / (x.shape[1] + len(train))
    covariance = (1 - shrink) * covariance + shrink * np.eye(x.shape[1])
    weights = np.linalg.solve(covariance, means.T)  # (k, classes)
    offset = np.log(np.maximum(count, 1e-9) / len(train)) - (means.T * weights).sum(axis=0) / 2
    scores = x[test] @ weights + offset
    scores -= scores.max(axis=1, keepdims=True)
    odds = np.exp(scores)
    p: Probabilities = odds / odds.sum(axis=1, keepdims=True)
    return p


def _varied(x: npt.NDArray[np.floating], y: Codes, classes: int) -> Codes:
    """The columns whose class means differ most, relative to their spread."""
    count = np.maximum(np.bincount(y, minlength=classes), 1)
    hot = np.zeros((len(y), classes), np.float32)
    hot[np.arange(len(y)), y] = 1
    x = np.clip(x, -1e15, 1e15).astype(np.float64)
    means = hot.T @ x / count[:, None]
    between = (count[:, None] * np.square(means - x.mean(axis=0))).sum(axis=0)
    return np.sort(np.argsort(-between / (x.var(axis=0) + 1e-9), kind="stable")[:WIDEST])
