from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score

from withhold.attribute import Attribute
from withhold.audit.metrics import score, wilson


def classes(codes, k=3):
    codes = np.asarray(codes, np.int64)
    return Attribute("a", "categorical", tuple(str(i) for i in range(k)), codes)


def labels(codes):
    codes = np.asarray(codes, np.int64)
    return Attribute("a", "multilabel", tuple(str(i) for i in range(codes.shape[1])), codes)


def random(n=400, k=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)).astype(np.float32), rng.integers(0, k, n)


def test_accuracies_are_those_of_sklearn():
    logits, codes = random()
    codes[codes == 2] = 1  # a class nobody has
    found = score(logits, classes(codes, 4))
    guess = logits.argmax(axis=1)
    keep = guess != 2  # sklearn warns where a guess is no class
    assert found.accuracy == pytest.approx(accuracy_score(codes, guess))
    again = score(logits[keep], classes(codes[keep], 4))
    assert again.balanced_accuracy == pytest.approx(
        balanced_accuracy_score(codes[keep], guess[keep])
    )
    assert found.cmap is None


def test_a_constant_guess_has_the_majority_and_no_balance():
    logits = np.tile(np.float32([0, 1, 0]), (100, 1))
    codes = np.array([1] * 70 + [0] * 20 + [2] * 10)
    found = score(logits, classes(codes))
    assert found.accuracy == 0.7
    assert found.balanced_accuracy == pytest.approx(1 / 3)


def test_missing_labels_are_left_out():
    logits, codes = random()
    gone = np.arange(len(codes)) % 3 == 0
    found = score(logits, classes(np.where(gone, -1, codes), 4))
    assert found == score(logits[~gone], classes(codes[~gone], 4))


def test_relabelling_changes_nothing():
    logits, codes = random()
    order = np.array([2, 0, 3, 1])
    renamed = score(logits[:, order], classes(np.argsort(order)[codes], 4))
    assert renamed == score(logits, classes(codes, 4))


def test_several_labels():
    logits = np.float32([[2, -1], [-3, -1], [1, 4], [-1, 2], [5, -2]])
    codes = np.array([[1, 0], [0, 1], [0, 1], [-1, 1], [1, -1]])
    found = score(logits, labels(codes))
    # right: 1 1 | 1 0 | 0 1 | . 1 | 1 .
    assert found.accuracy == pytest.approx(6 / 8)
    # per label and outcome: label 0: zeros 1/2, ones 2/2; label 1: zeros 1/1, ones 2/3
    assert found.balanced_accuracy == pytest.approx((1 / 2 + 1 + 1 + 2 / 3) / 4)


def test_cmap_is_the_mean_average_precision_of_labels_with_both_outcomes():
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((300, 4)).astype(np.float32)
    codes = (rng.random((300, 4)) < [0.1, 0.5, 0.8, 0.5]).astype(int)
    codes[rng.random((300, 4)) < 0.2] = -1
    codes[:, 3] = np.where(codes[:, 3] >= 0, 1, -1)  # never 0
    found = score(logits, labels(codes))
    expected = []
    for k in range(3):
        known = codes[:, k] >= 0
        expected.append(average_precision_score(codes[known, k], logits[known, k]))
    assert found.cmap == pytest.approx(np.mean(expected))
    # Logits that know nothing: average precision is the prevalence.
    blind = score(np.zeros((300, 3), np.float32), labels(codes[:, :3]))
    rates = [(codes[:, k] == 1).sum() / (codes[:, k] >= 0).sum() for k in range(3)]
    assert blind.cmap == pytest.approx(np.mean(rates))


def test_labels_without_both_outcomes_have_no_cmap():
    assert score(np.ones((3, 1), np.float32), labels([[1], [1], [-1]])).cmap is None


# --- the interval ---


@given(n=st.integers(1, 5000), share=st.floats(0, 1))
def test_wilson_solves_its_equation(n, share):
    """Its ends are the p for which |p̂ - p| = z sqrt(p (1 - p) / n)."""
    right = round(share * n)
    p = right / n
    low, high = wilson(right, n)
    assert 0 <= low <= p <= high <= 1
    z = 1.959963985
    for end in (low, high):
        assert (p - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / n, abs=1e-12)


def test_wilson_at_the_ends_and_of_nothing():
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(800, 800)
    assert high == 1.0
    assert low == pytest.approx(800 / (800 + 1.959963985**2))
    assert wilson(0, 800) == pytest.approx((0.0, 1 - low))


def test_wilson_covers():
    rng = np.random.default_rng(0)
    for p, n in ((0.5, 40), (0.02, 200), (0.98, 200)):
        drawn = rng.binomial(n, p, 4000)
        inside = [low <= p <= high for low, high in (wilson(int(k), n) for k in drawn)]
        assert np.mean(inside) > 0.925


def test_the_interval_is_that_of_the_labelled_records():
    logits, codes = random(100, 2)
    found = score(logits, classes(np.where(np.arange(100) < 60, codes, -1), 2))
    right = int((logits[:60].argmax(axis=1) == codes[:60]).sum())
    assert found.ci == wilson(right, 60)
