from __future__ import annotations

import numpy as np
import pytest

from withhold.audit.calibration import calibrated, temperature
from withhold.audit.metrics import cross_entropy_bits
from withhold.records.attribute import Attribute


def drawn(n=4000, k=4, sureness=1.0, seed=0):
    """Logits that are `sureness` times those that the labels were drawn from."""
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((n, k)) * 1.5
    p = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    codes = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    names = tuple(str(i) for i in range(k))
    return (sureness * true).astype(np.float32), Attribute("a", "categorical", names, codes)


def several(n=4000, sureness=1.0, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((n, 3)) * 2
    codes = (rng.random((n, 3)) < 1 / (1 + np.exp(-true))).astype(np.int64)
    return (sureness * true).astype(np.float32), Attribute("a", "multilabel", tuple("abc"), codes)


@pytest.mark.parametrize("world", [drawn, several])
@pytest.mark.parametrize("sureness", [0.5, 1.0, 3.0])
def test_the_temperature_undoes_what_is_too_sure_or_too_shy(world, sureness):
    """The grid has 21 steps from 1/4 to 8: one is a factor of 1.19."""
    logits, truth = world(sureness=sureness)
    assert temperature(logits, truth) == pytest.approx(sureness, rel=0.2)


@pytest.mark.parametrize("world", [drawn, several])
@pytest.mark.parametrize("sureness", [0.4, 1.0, 5.0])
def test_it_costs_nothing_and_may_save(world, sureness):
    logits, truth = world(sureness=sureness)
    t = temperature(logits, truth)
    spent = cross_entropy_bits(calibrated(logits, t, truth.multilabel), truth)
    as_was = cross_entropy_bits(calibrated(logits, 1.0, truth.multilabel), truth)
    assert spent <= as_was + 0.003  # 1 lies between two steps of the grid
    if sureness != 1.0:
        assert spent < as_was - 0.02


@pytest.mark.parametrize("t", [0.25, 1.0, 8.0])
def test_the_answer_stays_the_same(t):
    logits, _ = drawn(500)
    assert np.array_equal(calibrated(logits, t, False).argmax(axis=1), logits.argmax(axis=1))
    assert np.array_equal(calibrated(logits, t, True) > 0, logits > 0)


def test_what_comes_out_are_log_probabilities():
    logits, _ = drawn(500)
    p = np.exp(calibrated(1000 * logits, 1.0, False).astype(np.float64))
    assert np.allclose(p.sum(axis=1), 1, atol=1e-5)
    assert p.min() > 0


def test_a_class_that_was_never_seen_costs_much_but_not_all():
    """-log2 of the doubt's share, at most: log2(k / 1e-4)."""
    logits = np.float32([[0, 1e4, -1e4], [-1e6, 0, 0]])
    truth = Attribute("a", "categorical", tuple("abc"), np.array([2, 0]))
    spent = cross_entropy_bits(calibrated(logits, 1.0, False), truth)
    assert spent == pytest.approx(np.log2(3 / 1e-4), abs=0.01)
    odds = calibrated(np.float32([[1e9]]), 1.0, True)
    assert cross_entropy_bits(odds, Attribute("a", "multilabel", ("x",), np.array([[0]]))) < 15


def test_without_labels_nothing_is_changed():
    logits, truth = drawn(5)
    assert temperature(logits, Attribute("a", "categorical", truth.classes, np.full(5, -1))) == 1
