from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contracts.attacker import AttackerContract, Fitted
from support import of_world
from withhold.audit.attackers import mlp_attacker as module
from withhold.audit.attackers.mlp_attacker import Mlp, MlpSmall
from withhold.audit.metrics import accuracy
from withhold.datasets.worlds import gaussian

TINY = Mlp(hidden=(64,), epochs=10, steps=200)


class TestMlp(AttackerContract):
    def make(self):
        return TINY

    def make_brief(self):
        return replace(TINY, epochs=6)


@pytest.fixture
def errors(monkeypatch):
    """The errors on val, epoch by epoch."""
    seen, measure = [], module._error

    def noting(*args):
        seen.append(measure(*args))
        return seen[-1]

    monkeypatch.setattr(module, "_error", noting)
    return seen


def test_it_stops_when_val_stops_improving(errors):
    data = of_world(gaussian.no_leak(600, 8, 2))
    Fitted(replace(TINY, epochs=40, patience=9), data, "label", 0)
    assert len(errors) - 1 - int(np.argmin(errors)) == 9
    assert len(errors) < 40


def test_the_best_epoch_on_val_is_kept_not_the_last(errors):
    data = of_world(gaussian.many_classes(600, 30, 3, separation=1.0))
    kept = Fitted(replace(TINY, epochs=40, patience=40), data, "label", 0)
    val = data.part("val")
    wrong = 1 - accuracy(kept.logits(val.x), val.attribute("label"))[0]
    assert len(errors) == 40
    assert min(errors) + 0.01 < errors[-1]  # by then it knows train by heart
    assert wrong == pytest.approx(min(errors), abs=2e-4)


def test_a_warm_start_is_not_worse_on_val_than_what_it_starts_from(errors):
    """It keeps what it was given where training makes it worse."""
    data = of_world(gaussian.many_classes(600, 30, 3, separation=1.0))
    model = Fitted(TINY, data, "label", 0)
    best = min(errors)
    errors.clear()
    warm = Fitted(replace(TINY.warm(model.prediction.state()), rate=0.5), data, "label", 0)
    assert errors[0] == pytest.approx(best)
    assert min(errors[1:]) > best  # at such a rate it forgets
    assert np.array_equal(warm.logits(data.x), model.logits(data.x))


def test_the_small_one_of_the_ladder_meets_bayes_on_few_records():
    world = gaussian.xor(1500, 6, separation=2.0, seed=2)
    data = of_world(world)
    test = data.part("test")
    found, _ = accuracy(
        Fitted(MlpSmall(), data, "label", 0).logits(test.x), test.attribute("label")
    )
    assert found > 0.5 + 0.9 * (world.bayes["label"] - 0.5) - 0.03
