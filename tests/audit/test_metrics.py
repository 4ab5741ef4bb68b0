from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    roc_auc_score,
    top_k_accuracy_score,
)

from withhold.audit import metrics
from withhold.audit.intervals import share, wilson
from withhold.audit.metrics import accuracy, cross_entropy_bits, entropy_bits, score
from withhold.records.attribute import Attribute


def classes(codes, k=3):
    codes = np.asarray(codes, np.int64)
    return Attribute("a", "categorical", tuple(str(i) for i in range(k)), codes)


def labels(codes):
    codes = np.asarray(codes, np.int64)
    return Attribute("a", "multilabel", tuple(str(i) for i in range(codes.shape[1])), codes)


def normal(logits):
    """Log-probabilities."""
    return (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))).astype(np.float32)


def random(n=400, k=4, seed=0, *, ties=False, known=1.0):
    """Log-probabilities that know a little, and codes; with ties, in steps of a half."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    logits = rng.standard_normal((n, k)) + known * np.eye(k)[codes]
    return normal(np.round(2 * logits) / 2 if ties else logits), codes


# --- known figures ---


@pytest.mark.parametrize("k", [2, 4, 12])
@pytest.mark.parametrize("ties", [False, True])
def test_figures_of_classes_are_those_of_sklearn(k, ties):
    log_p, codes = random(k=k, seed=k, ties=ties)
    found = score(log_p, classes(codes, k), draws=0)
    guess = log_p.argmax(axis=1)
    assert found.accuracy == pytest.approx(accuracy_score(codes, guess))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(codes, guess))
    assert found.f1 == pytest.approx(f1_score(codes, guess, average="macro"))
    shares = np.bincount(codes) / len(codes)
    bits = -(shares * np.log2(shares)).sum()
    assert entropy_bits(classes(codes, k)) == pytest.approx(bits)
    p = np.exp(log_p.astype(np.float64))
    spent = log_loss(codes, p / p.sum(axis=1, keepdims=True)) / np.log(2)
    assert cross_entropy_bits(log_p, classes(codes, k)) == pytest.approx(spent, abs=1e-5)
    assert found.bits == pytest.approx(max(bits - spent, 0), abs=1e-5)
    if k == 2:
        auc = roc_auc_score(codes, (log_p[:, 1] - log_p[:, 0]).round(4))
        assert found.auc == pytest.approx(max(auc, 1 - auc), abs=1e-4)
    else:
        assert found.auc is None
    if k >= 10 and not ties:
        assert found.top5 == pytest.approx(top_k_accuracy_score(codes, log_p, k=5))
    assert (found.top5 is None) == (k < 10)
    assert found.cmap is None


def test_an_auc_that_is_the_wrong_way_round_is_turned_about():
    log_p, codes = random(k=2)
    assert score(log_p[:, ::-1], classes(codes, 2), draws=0).auc == pytest.approx(
        score(log_p, classes(codes, 2), draws=0).auc
    )


def test_classes_that_nobody_has_are_no_part_of_a_mean():
    """Of a guess that is no class of the truth sklearn warns, and counts as we do."""
    log_p, codes = random()
    codes[codes == 2] = 1
    found = score(log_p, classes(codes, 4), draws=0)
    guess = log_p.argmax(axis=1)
    recalls = [(guess[codes == c] == c).mean() for c in (0, 1, 3)]
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    assert found.f1 == pytest.approx(f1_score(codes, guess, average="macro", zero_division=0))


def test_a_constant_guess_has_the_majority_and_no_balance():
    log_p = normal(np.tile([0.0, 1.0, 0.0], (100, 1)))
    codes = np.array([1] * 70 + [0] * 20 + [2] * 10)
    found = score(log_p, classes(codes))
    assert found.accuracy == 0.7
    assert found.balanced_accuracy == pytest.approx(1 / 3)


def test_figures_of_several_labels_are_those_of_sklearn():
    rng = np.random.default_rng(0)
    codes = (rng.random((300, 4)) < [0.1, 0.5, 0.8, 0.5]).astype(int)
    odds = (rng.standard_normal((300, 4)) + codes - 0.5).round(1).astype(np.float32)  # ties
    codes[rng.random((300, 4)) < 0.2] = -1
    codes[:, 3] = np.where(codes[:, 3] >= 0, 1, -1)  # never 0
    found = score(odds, labels(codes), draws=0)
    precision, f1, recalls, right, spent = [], [], [], [], []
    for k in range(4):
        known = codes[:, k] >= 0
        truth, z = codes[known, k], odds[known, k]
        right += ((z > 0) == truth).tolist()
        recalls += [((z > 0) == truth)[truth == o].mean() for o in (0, 1) if (truth == o).any()]
        spent.append(log_loss(truth, 1 / (1 + np.exp(-z.astype(float))), labels=[0, 1]))
        if k < 3:
            precision.append(average_precision_score(truth, z))
            f1.append(f1_score(truth, z > 0))
    assert found.accuracy == pytest.approx(np.mean(right))
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    assert found.cmap == pytest.approx(np.mean(precision))
    assert found.f1 == pytest.approx(np.mean(f1))
    assert found.auc is None
    bits = [entropy_bits(labels(codes[:, [k]])) for k in range(4)]
    assert entropy_bits(labels(codes)) == pytest.approx(np.mean(bits))
    assert found.bits == pytest.approx(max(np.mean(bits) - np.mean(spent) / np.log(2), 0), abs=1e-5)


def test_average_precision_without_knowledge_is_the_prevalence():
    codes = (np.random.default_rng(0).random((500, 3)) < [0.1, 0.5, 0.8]).astype(int)
    blind = score(np.zeros((500, 3), np.float32), labels(codes), draws=0)
    assert blind.cmap == pytest.approx(codes.mean())


def test_labels_without_both_outcomes_have_no_cmap():
    found = score(np.ones((3, 1), np.float32), labels([[1], [1], [-1]]))
    assert found.cmap is None
    assert found.f1 is None
    assert found.accuracy == 1.0


# --- bits ---


@pytest.mark.parametrize("p", [0.01, 0.11, 0.3])
def test_bits_of_a_binary_symmetric_channel(p):
    """1 - H(p), for whoever knows the channel."""
    rng = np.random.default_rng(0)
    codes = np.tile([0, 1], 20_000)
    seen = codes ^ (rng.random(40_000) < p)
    log_p = np.log(np.where(np.eye(2)[seen] == 1, 1 - p, p)).astype(np.float32)
    found = score(log_p, classes(codes, 2), draws=50)
    capacity = 1 + p * np.log2(p) + (1 - p) * np.log2(1 - p)
    assert found.bits == pytest.approx(capacity, abs=0.015)
    assert found.intervals["bits"][0] <= found.bits <= found.intervals["bits"][1]


def test_bits_of_nothing_and_of_everything():
    codes = np.repeat([0, 1, 2], [50, 30, 20])
    prior = np.log(np.tile(np.float32([0.5, 0.3, 0.2]), (100, 1)))
    assert score(prior, classes(codes)).bits == pytest.approx(0, abs=1e-6)
    sure = np.where(np.eye(3)[codes] == 1, 0.0, -30.0).astype(np.float32)
    assert score(sure, classes(codes)).bits == pytest.approx(entropy_bits(classes(codes)))
    misled = score(sure[::-1], classes(codes))  # worse than the prior: still nothing, not less
    assert misled.bits == 0
    assert misled.intervals["bits"] == (0, 0)


def test_bits_may_be_counted_from_another_attacker():
    """The one most often right and the one least surprised need not be the same."""
    log_p, codes = random()
    other, _ = random(seed=9)
    found = score(log_p, classes(codes, 4), surest=other)
    one, two = score(log_p, classes(codes, 4)), score(other, classes(codes, 4))
    assert found == one.model_copy(
        update={"bits": two.bits, "intervals": one.intervals | {"bits": two.intervals["bits"]}}
    )


# --- missing labels, other names ---


def test_missing_labels_are_left_out():
    log_p, codes = random()
    gone = np.arange(len(codes)) % 3 == 0
    who = np.arange(len(codes)) // 5
    found = score(log_p, classes(np.where(gone, -1, codes), 4), units=who)
    assert found == score(log_p[~gone], classes(codes[~gone], 4), units=who[~gone])
    value, ci = accuracy(log_p, classes(np.where(gone, -1, codes), 4))
    assert (value, ci) == accuracy(log_p[~gone], classes(codes[~gone], 4))


def test_relabelling_changes_nothing():
    log_p, codes = random()
    order = np.array([2, 0, 3, 1])
    renamed = score(log_p[:, order], classes(np.argsort(order)[codes], 4))
    as_was = score(log_p, classes(codes, 4))
    for name in ("accuracy", "ci", "least", "balanced_accuracy", "f1", "bits"):
        assert getattr(renamed, name) == pytest.approx(getattr(as_was, name))


# --- intervals ---


def test_the_interval_of_the_accuracy_is_that_of_the_labelled_records():
    log_p, codes = random(100, 2)
    found = score(log_p, classes(np.where(np.arange(100) < 60, codes, -1), 2))
    right = log_p[:60].argmax(axis=1) == codes[:60]
    assert found.ci == wilson(right.sum(), 60)
    who = np.arange(100) // 10
    grouped = score(log_p, classes(np.where(np.arange(100) < 60, codes, -1), 2), units=who)
    assert (grouped.accuracy, grouped.ci, grouped.least) == share(right, who[:60])


def test_several_labels_of_one_record_are_no_several_records():
    """Twenty copies of one label are worth one label."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (200, 1))
    odds = (rng.standard_normal((200, 1)) + codes - 0.5).astype(np.float32)
    one, many = score(odds, labels(codes)), score(np.tile(odds, 20), labels(np.tile(codes, 20)))
    assert many.accuracy == pytest.approx(one.accuracy)
    width = one.ci[1] - one.ci[0]
    assert many.ci[1] - many.ci[0] == pytest.approx(width, rel=0.1)
    assert accuracy(np.tile(odds, 20), labels(np.tile(codes, 20)))[1] == many.ci


@pytest.mark.parametrize("world", ["2", "12", "60 of few records", "labels"])
def test_every_interval_holds_its_figure(world):
    if world == "labels":
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 2, (200, 3))
        found = score((rng.standard_normal((200, 3)) + codes).astype(np.float32), labels(codes))
        assert {"balanced_accuracy", "f1", "cmap", "bits"} == set(found.intervals)
    else:
        k = int(world.split()[0])
        log_p, codes = random(240, k, known=3)
        found = score(log_p, classes(codes, k))
        assert found.bits > 0.3  # of many classes a resample lacks some: its entropy is too low
        assert {"balanced_accuracy", "f1", "bits"} <= set(found.intervals)
    for name, (low, high) in found.intervals.items():
        assert 0 <= low <= getattr(found, name) <= high
        assert low < high or getattr(found, name) == 1


def test_intervals_over_people_are_wider_where_people_are_alike():
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(40), 10)
    codes = np.tile([0, 1], 200)
    known = (rng.random(40) < 0.6)[who]
    log_p = normal(np.where(known[:, None], 3 * np.eye(2)[codes], 3 * np.eye(2)[1 - codes]))
    alone, grouped = (score(log_p, classes(codes, 2), units=u) for u in (None, who))
    for name in ("balanced_accuracy", "f1", "auc"):
        narrow, wide = (np.ptp(s.intervals[name]) for s in (alone, grouped))
        assert wide > 1.8 * narrow


# --- weights ---


@settings(max_examples=40)
@given(data=st.data(), k=st.sampled_from([2, 3]), n=st.integers(2, 12))
def test_a_weight_is_a_number_of_copies(data, k, n):
    """What the bootstrap rests on: figures with weights are those of records repeated."""
    codes = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    steps = st.lists(st.integers(-2, 2), min_size=n * k, max_size=n * k)
    log_p = normal(np.array(data.draw(steps)).reshape(n, k) / 2)
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    rows = np.repeat(np.arange(n), counts)
    if len(set(codes[rows].tolist())) < 2:
        return
    weighted = metrics._class_metrics(log_p, codes, k, log_p, np.ones(n, bool))
    repeated = score(log_p[rows], classes(codes[rows], k), draws=0)
    for name, metric in weighted.items():
        found = max(float(metric(counts[None].astype(np.float32))[0]), 0)
        assert found == pytest.approx(getattr(repeated, name), abs=1e-5)


def test_a_weight_is_a_number_of_copies_of_several_labels_too():
    rng = np.random.default_rng(0)
    codes, odds = rng.integers(-1, 2, (60, 3)), rng.integers(-3, 4, (60, 3)).astype(np.float32)
    counts = rng.integers(0, 4, 60)
    rows = np.repeat(np.arange(60), counts)
    weighted = metrics._label_metrics(odds, codes, odds)
    repeated = score(odds[rows], labels(codes[rows]), draws=0)
    for name in ("balanced_accuracy", "f1", "cmap"):
        found = float(weighted[name](counts[None].astype(np.float32))[0])
        assert found == pytest.approx(getattr(repeated, name), abs=1e-6)
