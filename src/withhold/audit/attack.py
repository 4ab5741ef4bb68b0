"""One attack: fit an attacker on train and val, and keep what it says of val and test."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import Attacker, FloatArray, State
from withhold.audit.split import AttackParts
from withhold.records.attribute import Attribute

_SCORES = 20_000_000  # records x classes


@dataclass(frozen=True, eq=False)
class Attack:
    """Everything that one attack needs. Call it to run it, in this process or in another."""

    name: str
    attacker: Attacker
    x: npt.NDArray[Any]  # all records, in the view that the attacker wants
    attribute: Attribute
    parts: AttackParts
    seed: int
    also: npt.NDArray[Any] | None = None  # the release in this view, for models of the originals

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        d = self.x[:1].size
        return self.attacker.cost(len(self.parts.train), d, len(self.attribute.classes))

    def __call__(self) -> Outcome:
        """Fit on train, then score val and test."""
        started = time.perf_counter()
        train, val, test = self.parts.train, self.parts.val, self.parts.test
        x_val, x_test = self.x[val], self.x[test]
        fitted = self.attacker.fit(
            self.x[train],
            self.attribute.rows(train),
            x_val,
            self.attribute.rows(val),
            seed=self.seed,
        )
        return Outcome(
            self.name,
            fitted.logits(x_val),
            fitted.logits(x_test),
            None if self.also is None else fitted.logits(self.also[test]),
            fitted.state(),
            time.perf_counter() - started,
        )


@dataclass(frozen=True, eq=False)
class WarmAttack:
    """A model of the originals, then an attack on the release that starts from its weights.

    They are one task: no core has to wait until the models of all attributes are fitted.
    """

    model: Attack

    @property
    def cost(self) -> float:
        """About how many seconds both will take; the second has half the steps."""
        return 1.5 * self.model.cost

    def __call__(self) -> list[Outcome]:
        """The outcome of the model, and of the attack if there are weights to start from."""
        model = self.model
        fitted = model()
        if fitted.state is None or model.also is None:
            return [fitted]
        warm = Attack(
            f"{model.name}-warm",
            model.attacker.warm(fitted.state),
            model.also,
            model.attribute,
            model.parts,
            model.seed,
        )
        return [fitted, warm()]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The scores (n, k) of a fitted attacker.

    val, test: on the records that it attacked. also: on the test part of the release, if the
    attacker is a model of the originals.
    """

    name: str
    val: FloatArray
    test: FloatArray
    also: FloatArray | None
    state: State | None
    seconds: float


@dataclass(frozen=True)
class RecordLimits:
    """The most records of each part that attackers get: more would cost time and add little.

    The settings in the evidence state how many records were used.
    """

    train: int = 60_000
    val: int = 10_000
    test: int = 50_000

    def apply(self, parts: AttackParts, classes: int, seed: int) -> AttackParts:
        """Reduce each part to its limit, at random."""
        rng = np.random.default_rng([seed, 0x117])

        # With 1,000 classes each attacker stores 1,000 scores per record.
        fits = max(_SCORES // max(classes, 1), 1000)

        def some(rows: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
            return rows if len(rows) <= most else np.sort(rng.permutation(rows)[:most])

        return AttackParts(
            some(parts.train, self.train),
            some(parts.val, min(self.val, fits)),
            some(parts.test, min(self.test, fits)),
            parts.units,
            parts.note,
        )
