"""The power of an audit: the smallest leak that it would have found, measured by planting leaks.

A copy of the release gets one more feature per class. It is set for the records of the class among
a random share q of all records, so an attacker who reads it is right about q (1 - floor) more
records than a guess. A bisection finds the smallest q that quick attackers still surely find. A
less obvious leak must be larger to be found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.audit.attack import Attack
from withhold.audit.attack_plan import Question
from withhold.audit.attackers import Logistic, Prior
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.intervals import share
from withhold.audit.select_attacker import Reading, choose
from withhold.audit.split import AttackParts
from withhold.records.attribute import Attribute

STEPS = 5
_TRAIN, _TEST = 4_000, 50_000
_FAR = 8.0  # the planted value, in standard deviations
_WIDEST = 32  # features shown with the planted ones
_BRISK = (Prior(), Logistic(strengths=(0.3,)))
_MOST_CLASSES = 60


@dataclass(frozen=True, eq=False)
class SmallestLeak:
    """The search for the smallest leak in some features. Call it to run it, in any process."""

    x: FloatArray  # (n, d), only of the records that are used
    attribute: Attribute
    parts: AttackParts
    luck: npt.NDArray[np.float64]  # (n,); the leak tells the records with luck below q
    floor: float
    seed: int

    @classmethod
    def of(cls, question: Question, x: FloatArray, *, floor: float, seed: int) -> SmallestLeak:
        """Draw records and features from standardised features x: (n, d) of all records."""
        rng = np.random.default_rng([seed, 0xDE7])
        parts = AttackParts(
            rng.permutation(question.parts.train)[:_TRAIN],
            rng.permutation(question.parts.val)[: _TRAIN // 3],
            question.parts.test[:_TEST],
            question.parts.units,
        )
        features = np.sort(rng.permutation(x.shape[1])[:_WIDEST])
        luck = rng.random(len(x))
        used = np.unique(np.concatenate([parts.train, parts.val, parts.test]))
        few = x[np.ix_(used, features)]
        return cls(few, question.attribute.rows(used), parts.on(used), luck[used], floor, seed)

    def __call__(self) -> float | None:
        """The smallest q (1 - floor) that is found.

        It is 1 - floor if not even a leak of every record is surely found. It is None for
        multi-label attributes, for many classes, and if the floor is 1.
        """
        attribute, floor = self.attribute, self.floor
        if attribute.multilabel or len(attribute.classes) > _MOST_CLASSES or floor >= 1:
            return None
        low, high = 0.0, 1.0  # found at high, not at low
        if not self._found(1.0):
            return 1 - floor
        # The noise of the test part hides anything smaller, so start the search here.
        n = max(len(self.parts.test), 1)
        low = min(2.5 * np.sqrt(floor * (1 - floor) / n) / (1 - floor), 0.5) / 2
        for _ in range(STEPS):
            middle = float(np.sqrt(max(low, 1e-4) * high))
            if self._found(middle):
                high = middle
            else:
                low = middle
        return high * (1 - floor)

    def _found(self, q: float) -> bool:
        """Whether a leak of a share q of the records is surely above the floor."""
        attribute, parts = self.attribute, self.parts
        (n, d), k = self.x.shape, len(attribute.classes)
        planted = np.concatenate([self.x, np.zeros((n, k), np.float32)], axis=1)
        told = np.flatnonzero((self.luck < q) & attribute.known)
        planted[told, d + attribute.codes[told]] = _FAR
        val, test = attribute.rows(parts.val), attribute.rows(parts.test)
        outcomes = []
        for one in _BRISK:
            if one.declines(len(parts.train), planted.shape[1], k) is None:
                outcomes.append(Attack(one.name, one, planted, attribute, parts, self.seed)())
        chosen, _ = choose([Reading.of(o, val) for o in outcomes], val)
        units = None if parts.units is None else parts.units[parts.test]
        right = chosen.best.test.argmax(axis=1) == test.codes
        return bool(share(right, units)[2] > self.floor)
