"""`with_original`: an attacker who can tell whose row is whose, and knows that person's original.

Whoever holds the original can read it without the release. So the leak of the release is the gain:
how much more is read from original and release together than from the original alone, on the same
test records. A method that draws the release from the original alone has no gain: given X, its X'
says nothing more about S. A method that also looks at the class (`exact`) may have one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from withhold.audit.attack import RecordLimits
from withhold.audit.attack_plan import Question, Seen, fresh_attacks
from withhold.audit.attackers import Attacker, Logistic, Mlp, Prior, Trees, get_attackers
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.feature_views import FeatureViews
from withhold.audit.findings import WithOriginal
from withhold.audit.intervals import paired_gain, share
from withhold.audit.measure_attribute import floor
from withhold.audit.pairing import PairedRelease
from withhold.audit.select_attacker import Reading, choose
from withhold.records.attribute import Attribute

_MOST = RecordLimits(train=12_000, val=4_000, test=12_000)
_MOST_QUICK = RecordLimits(train=4_000, val=1_000, test=4_000)
_QUICK = (
    Prior(),
    Logistic(),
    Trees(rounds=60, patience=5, budget=1e8),
    Mlp(hidden=(64,), epochs=8, steps=400),
)


@dataclass(frozen=True, eq=False)
class WithOriginalTask:
    """The attack for one attribute. Call it to run it, in any process.

    original (n, d) and release (n, d') are the features of the records that it uses.
    """

    question: Question
    original: FloatArray
    release: FloatArray
    floor: float
    linked_by: str | None  # how receivers may tell whose a row is; None: nothing shows it
    attackers: tuple[Attacker, ...]
    seed: int

    @classmethod
    def of(
        cls,
        question: Question,
        matched: PairedRelease,
        *,
        linked_by: str | None,
        quick: bool,
        seed: int,
    ) -> WithOriginalTask:
        """The task on at most some thousand records of each part."""
        attribute = question.attribute
        limits = _MOST_QUICK if quick else _MOST
        parts = limits.apply(question.parts, len(attribute.classes), seed)
        rows = np.unique(np.concatenate([parts.train, parts.val, parts.test]))
        some = replace(question, parts=parts).on(rows)
        return cls(
            some,
            matched.original.x[rows],
            matched.release.x[rows],
            floor(some.attribute, some.given, some.parts),
            linked_by,
            _QUICK if quick else get_attackers(("prior", "logistic", "trees", "mlp-small")),
            seed,
        )

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        n, k = len(self.question.parts.train), len(self.question.attribute.classes)
        alone, more = self.original.shape[1], self.release.shape[1]
        both = 3 * alone if alone == more else alone + more
        widths = (alone, both, both)
        return float(sum(a.cost(n, d, k) for a in self.attackers for d in widths))

    def __call__(self) -> WithOriginal:
        """Attack the original alone, and the original together with the release."""
        parts, attribute = self.question.parts, self.question.attribute
        val, test = attribute.rows(parts.val), attribute.rows(parts.test)
        units = None if parts.units is None else parts.units[parts.test]
        own = self._readings(self.original, val)
        own += self._readings(self._beside(self._of_others()), val)
        both = self._readings(self._beside(self.release), val)
        alone, _ = choose(own, val)
        # Whoever has both may ignore the release.
        chosen, _ = choose([*own, *both], val)
        before, after = (_right(r.test, test) for r in (alone.best, chosen.best))
        counted = _units(test, units)
        accuracy, ci, least = share(after, counted)
        gain = paired_gain(before, after, counted)
        without = float(before.mean())
        return WithOriginal(
            records=len(parts.test),
            accuracy=accuracy,
            ci=ci,
            # If the original reads less than a guess, the release must beat the guess.
            least=without + gain.least if without >= self.floor else least,
            floor=max(without, self.floor),
            attacker=chosen.best.name,
            alone=without,
            alone_attacker=alone.best.name,
            gain=gain.mean,
            gain_ci=gain.ci,
            linked_by=self.linked_by,
        )

    def _readings(self, x: FloatArray, val: Attribute) -> list[Reading]:
        """The attackers on features x: (n, d)."""
        seen = Seen(x, FeatureViews.of(x[self.question.parts.train], seed=self.seed))
        attacks, _ = fresh_attacks(self.question, seen, self.attackers, seed=self.seed, twice=False)
        return [Reading.of(attack(), val) for attack in attacks]

    def _beside(self, release: FloatArray) -> FloatArray:
        """Original and release beside each other, and how far each feature moved.

        A tree sees one feature at a time, so it would not find the difference of two.
        """
        moved = [release - self.original] if release.shape == self.original.shape else []
        return np.concatenate([self.original, release, *moved], axis=1)

    def _of_others(self) -> FloatArray:
        """The release (n, d') of the record of the same part whose original is nearest.

        It shows what the original alone says in the words of the release. An attacker may learn
        more easily from these, although they say nothing new: that is no gain of the release.
        """
        from sklearn.neighbors import NearestNeighbors

        parts = self.question.parts
        z = FeatureViews.of(self.original[parts.train], seed=self.seed).see(
            "reduced", self.original
        )
        found = np.empty_like(self.release)
        for rows in (parts.train, parts.val, parts.test):
            near = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(z[rows])
            places = near.kneighbors(return_distance=False, n_neighbors=1)[:, 0]
            found[rows] = self.release[rows[places]]
        return found


def _right(log_p: FloatArray, truth: Attribute) -> npt.NDArray[np.bool_]:
    """Whether each record, or each known label, is predicted correctly."""
    if truth.multilabel:
        known = truth.codes >= 0
        return np.asarray(((log_p > 0) == (truth.codes == 1))[known])
    return np.asarray(log_p.argmax(axis=1) == truth.codes)


def _units(truth: Attribute, units: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64] | None:
    """What the interval counts: labels of one record are dependent."""
    if not truth.multilabel:
        return units
    rows = np.broadcast_to(np.arange(len(truth.codes))[:, None], truth.codes.shape)
    rows = rows[truth.codes >= 0]
    return np.asarray(rows if units is None else units[rows], np.int64)
