"""Select one attacker of a ladder on val; it is then measured on test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from withhold.audit.attack import Outcome
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.calibration import calibrated, temperature
from withhold.audit.findings import Rung
from withhold.audit.metrics import accuracy, cross_entropy_bits, entropy_bits
from withhold.records.attribute import Attribute

_TOGETHER = 3


@dataclass(frozen=True, eq=False)
class Reading:
    """A calibrated attacker: log-probabilities for val and test, and its figures on val."""

    name: str
    val: FloatArray
    test: FloatArray
    also: FloatArray | None
    val_accuracy: float
    val_spent: float  # cross-entropy in bits
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome, val: Attribute) -> Reading:
        """Calibrate an outcome on val."""
        t = temperature(outcome.val, val)
        read, test = (calibrated(z, t, val.multilabel) for z in (outcome.val, outcome.test))
        also = None if outcome.also is None else calibrated(outcome.also, t, val.multilabel)
        return cls(
            outcome.name,
            read,
            test,
            also,
            accuracy(read, val)[0],
            cross_entropy_bits(read, val),
            outcome.seconds,
        )

    def rung(self, val: Attribute, test: Attribute) -> Rung:
        """The row of this attacker in the report."""
        value, ci = accuracy(self.test, test)
        return Rung(
            attacker=self.name,
            val_accuracy=self.val_accuracy,
            val_bits=max(entropy_bits(val) - self.val_spent, 0.0),
            accuracy=value,
            ci=ci,
            seconds=round(self.seconds, 2),
        )


@dataclass(frozen=True, eq=False)
class Chosen:
    """The attackers with the highest accuracy and with the lowest cross-entropy on val."""

    best: Reading
    surest: Reading


def choose(readings: Iterable[Reading], val: Attribute) -> tuple[Chosen, Reading | None]:
    """Choose on val. The ensemble of the surest three competes with the single attackers."""
    able = list(readings)
    together = _ensemble(able, val)
    candidates = able + ([together] if together is not None else [])
    best = max(candidates, key=lambda r: (r.val_accuracy, -r.val_spent))
    surest = min(candidates, key=lambda r: r.val_spent)
    return Chosen(best, surest), together


def _ensemble(readings: list[Reading], val: Attribute) -> Reading | None:
    """The mean log-probabilities of the three attackers with the lowest cross-entropy on val."""
    if len(readings) < _TOGETHER:
        return None
    members = sorted(readings, key=lambda r: r.val_spent)[:_TOGETHER]
    outcome = Outcome(
        "ensemble",
        np.mean([r.val for r in members], axis=0),
        np.mean([r.test for r in members], axis=0),
        None,
        None,
        sum(r.seconds for r in members),
    )
    return Reading.of(outcome, val)
