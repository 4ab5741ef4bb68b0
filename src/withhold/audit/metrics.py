"""The figures of an attacker on held-out records, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field
from scipy import sparse

from withhold.audit.intervals import SURE, resamples, share, wilson
from withhold.records.attribute import Attribute

FloatArray = npt.NDArray[np.float32]
Weights = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Interval = tuple[float, float]
# One figure of one attacker: maps weights (b, n) of the records to b values.
Metric = Callable[[Weights], npt.NDArray[np.float64]]


class Score(BaseModel):
    """Figures of one attacker on labelled test records; None if a figure is not defined."""

    model_config = ConfigDict(frozen=True)

    accuracy: float
    ci: Interval = Field(description="95 % interval of the accuracy")
    least: float = Field(description="the accuracy is above this with 99.5 % confidence")
    balanced_accuracy: float = Field(description="mean recall over classes")
    f1: float | None = Field(None, description="macro F1; multi-label at probability 0.5")
    auc: float | None = Field(None, description="max(AUC, 1 - AUC), two classes")
    top5: float | None = Field(None, description="truth among the five likeliest; 10+ classes")
    cmap: float | None = Field(None, description="macro mean average precision, multi-label")
    bits: float = Field(0.0, description="H(S) minus the cross-entropy, in bits, at least 0")
    intervals: dict[str, Interval] = Field(
        default_factory=dict, description="95 % intervals of the other figures, by bootstrap"
    )


def score(
    log_p: FloatArray,
    truth: Attribute,
    *,
    surest: FloatArray | None = None,
    seen: IntArray | None = None,
    units: IntArray | None = None,
    draws: int = 400,
    seed: int = 0,
) -> Score:
    """Score (n, k) log-probabilities (multi-label: log odds) against the labels of the n records.

    Missing labels are left out. units: the person of each record; intervals then resample people.
    surest: the log-probabilities for the bits, if another attacker has a lower cross-entropy.
    seen: the classes in train; records of other classes do not count in the bits, because nobody
    can name them. For multi-label, accuracy is the share of labels right at probability 0.5.
    """
    known = truth.known
    sure = log_p[known] if surest is None else surest[known]
    log_p, codes = log_p[known], truth.codes[known]
    units = None if units is None else units[known]
    if truth.multilabel:
        metrics = _label_metrics(log_p, codes, sure)
        accuracy, ci, least = label_share(log_p, codes, units)
    else:
        counted = np.ones(len(codes), bool) if seen is None else np.isin(codes, seen)
        metrics = _class_metrics(log_p, codes, len(truth.classes), sure, counted)
        accuracy, ci, least = share(log_p.argmax(axis=1) == codes, units)
    once = np.ones((1, len(codes)), np.float32)
    values = {name: float(metric(once)[0]) for name, metric in metrics.items()}
    samples: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in metrics}
    if draws and len(codes):
        for weights in resamples(len(codes), units, seed=seed, draws=draws):
            for name, metric in metrics.items():
                samples[name].append(metric(weights))
    intervals = {n: _percentiles(n, found, values[n]) for n, found in samples.items() if found}
    values["bits"] = max(values["bits"], 0.0)
    return Score(accuracy=accuracy, ci=ci, least=least, intervals=intervals, **values)


def accuracy(log_p: FloatArray, truth: Attribute) -> tuple[float, Interval]:
    """The accuracy and its interval by record, for the rungs of a ladder."""
    known = truth.known
    if truth.multilabel:
        value, ci, _ = label_share(log_p[known], truth.codes[known], None)
        return value, ci
    right = log_p[known].argmax(axis=1) == truth.codes[known]
    return (float(right.mean()) if len(right) else float("nan"), wilson(right.sum(), len(right)))


def entropy_bits(truth: Attribute) -> float:
    """H(S) of the labelled records in bits; for multi-label, the mean over labels."""
    if truth.multilabel:
        found = [
            row_entropy(np.array([[(c == 0).sum(), (c == 1).sum()]]))[0] for c in truth.codes.T
        ]
        return float(np.mean(found)) if found else 0.0
    return float(row_entropy(truth.counts[None].astype(float))[0])


def cross_entropy_bits(log_p: FloatArray, truth: Attribute) -> float:
    """Mean -log2 p(truth) over labelled records; for multi-label, over all labels."""
    known = truth.known
    log_p, codes = log_p[known], truth.codes[known]
    if not len(codes):
        return float("nan")
    if truth.multilabel:
        found = codes >= 0
        return float(_binary_surprise(log_p, codes)[found].mean())
    return float(-log_p[np.arange(len(codes)), codes].mean() / np.log(2))


def _class_metrics(
    log_p: FloatArray,
    codes: IntArray,
    classes: int,
    sure: FloatArray,
    counted: npt.NDArray[np.bool_],
) -> dict[str, Metric]:
    n = len(codes)
    guess = log_p.argmax(axis=1)
    right = guess == codes
    rows = np.arange(n)
    # Sparse (n, k) with one entry per record: sums per class cost n, not n * k.
    truth = sparse.csr_array((np.ones(n, np.float32), (rows, codes)), shape=(n, classes))
    named = sparse.csr_array((np.ones(n, np.float32), (rows, guess)), shape=(n, classes))
    hit = sparse.csr_array((right.astype(np.float32), (rows, codes)), shape=(n, classes))
    able = counted.astype(np.float32)
    told = sparse.csr_array((able, (rows, codes)), shape=(n, classes))
    surprise = -sure[rows, codes].astype(np.float64) / np.log(2) * counted

    def balanced(w: Weights) -> npt.NDArray[np.float64]:
        seen, hits = w @ truth, w @ hit
        return _ratio(_ratio(hits, seen).sum(axis=1), (seen > 0).sum(axis=1))

    def f1(w: Weights) -> npt.NDArray[np.float64]:
        seen, hits, said = w @ truth, w @ hit, w @ named
        both = seen + said
        return _ratio(_ratio(2 * hits, both).sum(axis=1), (both > 0).sum(axis=1))

    def bits(w: Weights) -> npt.NDArray[np.float64]:
        return np.asarray(row_entropy(w @ told) - _ratio(w @ surprise, w @ able))

    metrics: dict[str, Metric] = {"balanced_accuracy": balanced, "f1": f1, "bits": bits}
    if classes == 2 and len(set(codes.tolist())) == 2:
        metrics["auc"] = folded_auc(log_p[:, 1] - log_p[:, 0], codes)
    if classes >= 10:
        five = np.argpartition(-log_p, 5, axis=1)[:, :5]
        found = (five == codes[:, None]).any(axis=1).astype(np.float32)
        metrics["top5"] = lambda w: _ratio(w @ found, w.sum(axis=1))
    return metrics


def folded_auc(scores: FloatArray, codes: IntArray) -> Metric:
    """max(AUC, 1 - AUC): an attacker who is wrong more often than right inverts the answer."""
    levels, place = np.unique(scores, return_inverse=True)
    starts = np.flatnonzero(np.diff(np.sort(place), prepend=-1))
    order = np.argsort(place, kind="stable")
    positive = (codes[order] == 1).astype(np.float32)

    def metric(w: Weights) -> npt.NDArray[np.float64]:
        sorted_w = w[:, order].astype(np.float64)
        up = np.add.reduceat(sorted_w * positive, starts, axis=1)
        down = np.add.reduceat(sorted_w * (1 - positive), starts, axis=1)
        below = np.cumsum(down, axis=1) - down
        area = (up * (below + 0.5 * down)).sum(axis=1)
        total = up.sum(axis=1) * down.sum(axis=1)
        auc = np.where(total > 0, _ratio(area, total), 0.5)
        return np.asarray(np.maximum(auc, 1 - auc))

    assert len(starts) == len(levels)
    return metric


def _label_metrics(logits: FloatArray, codes: IntArray, sure: FloatArray) -> dict[str, Metric]:
    known = codes >= 0
    right = ((logits > 0) == (codes == 1)) & known
    columns = [k for k in range(codes.shape[1]) if known[:, k].any()]
    mixed = [k for k in columns if 0 < codes[known[:, k], k].mean() < 1]
    surprise = np.where(known, _binary_surprise(sure, codes), 0.0)

    def balanced(w: Weights) -> npt.NDArray[np.float64]:
        rates = []
        for k in columns:
            for outcome in (0, 1):
                mine = codes[:, k] == outcome
                if mine.any():
                    rates.append(_ratio(w @ (right[:, k] & mine), w @ mine))
        return _mean(rates, len(w))

    def f1(w: Weights) -> npt.NDArray[np.float64]:
        rates = []
        for k in mixed:
            said, true = (logits[:, k] > 0) & known[:, k], codes[:, k] == 1
            rates.append(_ratio(2 * (w @ (said & true)), w @ said + w @ true))
        return _mean(rates, len(w))

    def cmap(w: Weights) -> npt.NDArray[np.float64]:
        return _mean([average_precision(logits[:, k], codes[:, k])(w) for k in mixed], len(w))

    def bits(w: Weights) -> npt.NDArray[np.float64]:
        rates = []
        for k in columns:
            ones, zeros = w @ (codes[:, k] == 1), w @ (codes[:, k] == 0)
            spent = _ratio(w @ surprise[:, k], w @ known[:, k])
            rates.append(row_entropy(np.stack([zeros, ones], axis=1)) - spent)
        return _mean(rates, len(w))

    metrics: dict[str, Metric] = {"balanced_accuracy": balanced, "bits": bits}
    if mixed:
        metrics |= {"f1": f1, "cmap": cmap}
    return metrics


def average_precision(scores: FloatArray, codes: IntArray) -> Metric:
    """Mean over positives of the precision at their rank; equal scores share one rank."""
    known = codes >= 0
    order = np.flatnonzero(known)[np.argsort(-scores[known], kind="stable")]
    positive = (codes[order] == 1).astype(np.float64)
    ordered = scores[order]
    # The last record of each run of equal scores: its precision is used for the whole run.
    last = np.searchsorted(-ordered, -ordered, side="right") - 1

    def metric(w: Weights) -> npt.NDArray[np.float64]:
        weights = w[:, order].astype(np.float64)
        hits, all_ = np.cumsum(weights * positive, axis=1), np.cumsum(weights, axis=1)
        precision = _ratio(hits, all_)[:, last]
        return _ratio((weights * positive * precision).sum(axis=1), hits[:, -1])

    return metric


def label_share(
    logits: FloatArray, codes: IntArray, units: IntArray | None, *, level: float = SURE
) -> tuple[float, Interval, float]:
    """Share of correct labels. Labels of a record are dependent, so intervals count records (or
    units)."""
    known = codes >= 0
    right = ((logits > 0) == (codes == 1))[known]
    rows = np.broadcast_to(np.arange(len(codes))[:, None], codes.shape)[known]
    return share(right, rows if units is None else units[rows], level=level)


def _binary_surprise(logits: FloatArray, codes: IntArray) -> npt.NDArray[np.float64]:
    """-log2 of the probability of the outcome under the log odds."""
    signed = np.where(codes == 1, logits, -logits).astype(np.float64)
    return np.asarray(np.logaddexp(0.0, -signed) / np.log(2))


def row_entropy(counts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Entropy in bits of each row of counts, (n, k) to (n,)."""
    p = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-9)
    logs = np.zeros_like(p, dtype=np.float64)
    np.log2(p, out=logs, where=p > 0)
    return np.asarray(-(p * logs).sum(axis=1), np.float64)


def _ratio(top: npt.NDArray[Any], bottom: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """top / bottom, and 0 if bottom is 0."""
    top = np.asarray(top, np.float64)
    return np.asarray(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))


def _mean(rates: Sequence[npt.NDArray[np.float64]], n: int) -> npt.NDArray[np.float64]:
    return np.mean(rates, axis=0) if rates else np.full(n, np.nan)


def _percentiles(name: str, found: list[npt.NDArray[np.float64]], value: float) -> Interval:
    """The middle 95 % of resamples, corrected for bias: with many classes a resample misses some
    of them, so entropies and means over classes come out too low."""
    drawn = np.concatenate(found)
    low, high = np.nanquantile(drawn, [0.025, 0.975]) + value - np.nanmean(drawn)
    least, most = (0.5 if name == "auc" else 0.0), (np.inf if name == "bits" else 1.0)
    return (float(np.clip(low, least, most)), float(np.clip(high, least, most)))
