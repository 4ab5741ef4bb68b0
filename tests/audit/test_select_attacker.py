"""One attacker of a ladder: chosen on val, never on test."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.audit.attack import Outcome
from withhold.audit.metrics import accuracy
from withhold.audit.select_attacker import Reading, choose
from withhold.records.attribute import Attribute

RNG = np.random.default_rng(0)
VAL = Attribute("a", "categorical", ("0", "1"), np.arange(400) % 2)
TEST = Attribute("a", "categorical", ("0", "1"), np.arange(300) // 2 % 2)


def knows(truth: Attribute, share: float, sureness: float = 1.0):
    """Logits that are right about a share of the records."""
    right = np.arange(len(truth.codes)) < share * len(truth.codes)
    codes = np.where(right, truth.codes, 1 - truth.codes)
    noise = 0.1 * RNG.standard_normal((len(codes), 2))
    return (sureness * (2 * np.eye(2)[codes] + noise)).astype(np.float32)


def outcome(name, on_val, on_test, sureness=1.0) -> Outcome:
    return Outcome(
        name, knows(VAL, on_val, sureness), knows(TEST, on_test, sureness), None, None, 1.0
    )


def readings(*outcomes) -> list[Reading]:
    return [Reading.of(o, VAL) for o in outcomes]


def test_val_decides_and_not_test():
    """Else the figure would be the luckiest of many, and not that of an attacker."""
    chosen, _ = choose(readings(outcome("sound", 0.8, 0.7), outcome("lucky", 0.6, 0.99)), VAL)
    assert chosen.best.name == "sound"
    assert accuracy(chosen.best.test, TEST)[0] == pytest.approx(0.7, abs=0.01)


def test_the_surest_has_the_least_cross_entropy_whoever_is_most_often_right():
    """One is right in 82 of 100 and cannot tell when; the other in 80, and knows which."""
    often = outcome("often", 0.82, 0.82)
    doubts = (np.arange(400) < 320)[:, None] * knows(VAL, 1.0) + 1e-3 * knows(VAL, 0.0)
    tells = Outcome("tells", doubts.astype(np.float32), often.test, None, None, 1.0)
    chosen, _ = choose(readings(often, tells), VAL)
    assert chosen.best.name == "often"
    assert chosen.surest.name == "tells"


def test_of_three_or_more_the_ensemble_of_the_surest_is_a_candidate():
    """Three that err at different records are right together."""
    parts = []
    for i, name in enumerate("abc"):
        logits = []
        for truth in (VAL, TEST):
            wrong = np.arange(len(truth.codes)) % 3 == i
            codes = np.where(wrong, 1 - truth.codes, truth.codes)
            logits.append((2 * np.eye(2)[codes]).astype(np.float32))
        parts.append(Outcome(name, *logits, None, None, 1.0))
    chosen, together = choose(readings(*parts), VAL)
    assert together.name == chosen.best.name == "ensemble"
    assert accuracy(together.test, TEST)[0] == 1.0
    assert max(r.val_accuracy for r in readings(*parts)) < 0.7
    assert together.seconds == 3.0
    # Two are no ensemble.
    assert choose(readings(*parts[:2]), VAL)[1] is None


def test_a_rung_shows_val_and_test():
    (one,) = readings(outcome("a", 0.8, 0.7, sureness=5))
    rung = one.rung(VAL, TEST)
    assert rung.attacker == "a"
    assert rung.val_accuracy == pytest.approx(0.8)
    assert rung.accuracy == pytest.approx(0.7)
    assert rung.ci[0] < 0.7 < rung.ci[1]
    # Calibrated: right in 80 of 100 is worth 1 - H(0.2) bits, however sure it was.
    assert rung.val_bits == pytest.approx(1 - 0.7219, abs=0.03)
