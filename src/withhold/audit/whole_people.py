"""Attackers that are trained on whole people: sets of r records of one person.

Adding up the scores of single records misses how the records of a person vary together. If the
records of women are alike and those of men are not, no single record tells, and five of them do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import Question, Seen, fresh_attacks
from withhold.audit.attackers import Attacker, Logistic, Trees
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.feature_views import FeatureViews
from withhold.audit.record_sets import (
    PEOPLE,
    Rows,
    draw_sets,
    person_labels,
    set_sizes,
    why_not_linked,
)
from withhold.audit.select_attacker import Reading, choose
from withhold.audit.set_features import describe_sets, distinct_rows
from withhold.audit.split import AttackParts, tells_group
from withhold.records.attribute import Attribute

_TRAIN = 10  # the fewest people with r records to learn from
_MANY, _KEPT = 64, 32  # beside more features than _MANY, sets show _KEPT principal directions
_WIDEST = 512  # with more features, sets show principal directions alone
_SCORED = 12  # classes whose one-record scores describe a set
_ON_RECORDS: tuple[Attacker, ...] = (Logistic(), Trees(rounds=60, patience=5, budget=1e8))
_ON_SETS: tuple[Attacker, ...] = (Logistic(), Trees(rounds=100, patience=8, budget=3e8))


@dataclass(frozen=True, eq=False)
class SetScores:
    """What attackers trained on sets of r records say of sets of val and test.

    val_sets (b, r): places in the val part. truth: the classes of these sets. The sets of test are
    those of `draw_sets`. told: attackers that see only the preserved labels, which give the floor.
    """

    val_sets: Rows
    truth: Attribute
    outcomes: tuple[Outcome, ...]
    told: tuple[Outcome, ...] = ()


@dataclass(frozen=True, eq=False)
class WholePeople:
    """The scores by number of records, or why there are none."""

    of: dict[int, SetScores] = field(default_factory=dict)
    why_not: str = ""


@dataclass(frozen=True, eq=False)
class WholePeopleTask:
    """The attacks on the people of one attribute. Call it to run it, in any process.

    records (m, d): all released records, standardised; rows (n,): those that it uses, to which the
    question and the others refer. main (n, d'): their principal directions, if there are many
    features. same (n,): equal numbers for equal records.
    """

    question: Question
    records: FloatArray
    rows: Rows
    main: FloatArray
    same: Rows
    seed: int
    why_not: str = ""

    @classmethod
    def of(cls, question: Question, seen: Seen, *, seed: int) -> WholePeopleTask:
        """The task on the records of the question's parts; an empty one if it cannot be done."""
        parts, attribute = question.parts, question.attribute
        why = _why_not(attribute, parts)
        if why:
            none = np.zeros((0, 1), np.float32)
            return cls(
                question, none, np.zeros(0, np.int64), none, np.zeros(0, np.int64), seed, why
            )
        rows = np.unique(np.concatenate([parts.train, parts.val, parts.test]))
        some = question.on(rows)
        main = np.zeros((len(rows), 0), np.float32)
        if seen.x.shape[1] > _MANY:
            main = _principal(seen.views.see("reduced", seen.x[rows]), some.parts.train)
        # All tasks share the standardised records, so they need no memory of their own.
        shared = seen.view("standard") if seen.x.shape[1] <= _WIDEST else seen.x[:, :0]
        return cls(some, shared, rows, main, distinct_rows(seen.x[rows]), seed)

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        if self.why_not:
            return 0.01
        n, d = len(self.question.parts.train), self.records.shape[1] + self.main.shape[1]
        k, sets = len(self.question.attribute.classes), min(n, 2000)
        single = 2 * sum(a.cost(n, d, k) for a in _ON_RECORDS)
        together = 3 * sum(a.cost(sets, 4 * d, k) for a in _ON_SETS)
        return float(n * d / 2e6 + single + together)

    def __call__(self) -> WholePeople:
        """Attack sets of every size that the data allow."""
        if self.why_not:
            return WholePeople(why_not=self.why_not)
        parts = self.question.parts
        assert parts.units is not None
        sizes = [r for r in set_sizes(parts.units[parts.test]) if self._allows(r)]
        if not sizes:
            return WholePeople(why_not="train or val has too few people with several records")
        x = np.concatenate([self.main, self.records[self.rows]], axis=1)
        scores = _scores(self.question, x, self.seed)
        given = _one_hot(self.question.given)
        found = {}
        for r in sizes:
            sets = _Sets.of(self.question, r, self.seed)
            told: tuple[Outcome, ...] = ()
            if given is not None:
                told = sets.attack(given, distinct_rows(given), scores[:, :0], self.seed)
            outcomes = sets.attack(x, self.same, scores, self.seed)
            found[r] = SetScores(sets.val_places, sets.truth, outcomes, told)
        return WholePeople(found)

    def _allows(self, r: int) -> bool:
        """Whether enough people of each part have r records, and train has two classes of them."""
        parts, attribute = self.question.parts, self.question.attribute
        assert parts.units is not None
        for rows, least in zip(_apart(parts), (_TRAIN, PEOPLE, PEOPLE), strict=True):
            names, records = np.unique(parts.units[rows], return_counts=True)
            able = rows[np.isin(parts.units[rows], names[records >= r])]
            if (records >= r).sum() < least:
                return False
            if least == _TRAIN and len(np.unique(attribute.codes[able])) < 2:
                return False
        return True


@dataclass(frozen=True, eq=False)
class _Sets:
    """Sets (b, r) of train, val and test, as a question about sets."""

    sets: Rows
    question: Question
    val_places: Rows

    @classmethod
    def of(cls, question: Question, r: int, seed: int) -> _Sets:
        parts, attribute = question.parts, question.attribute
        assert parts.units is not None
        found, codes, owners = [], [], []
        for i, rows in enumerate(_apart(parts)):
            sets, _ = draw_sets(parts.units[rows], r, seed)
            if i == 0:  # a set that is drawn twice teaches nothing new
                sets = np.unique(np.sort(sets, axis=1), axis=0)
            label, _ = person_labels(attribute.codes[rows], parts.units[rows])
            found.append(rows[sets])
            codes.append(label[sets[:, 0]])
            owners.append(parts.units[rows[sets[:, 0]]])
        ends = np.cumsum([0, *(len(s) for s in found)])
        train, val, test = (np.arange(a, b) for a, b in pairwise(ends))
        of_sets = replace(
            question,
            attribute=replace(attribute, codes=np.concatenate(codes)),
            parts=AttackParts(train, val, test, np.concatenate(owners)),
            given=(),
            notes=(),
        )
        return cls(np.concatenate(found), of_sets, np.searchsorted(parts.val, found[1]))

    @property
    def truth(self) -> Attribute:
        """The classes of the sets of val."""
        return self.question.attribute.rows(self.question.parts.val)

    def attack(
        self, x: FloatArray, same: Rows, scores: FloatArray, seed: int
    ) -> tuple[Outcome, ...]:
        """Attackers on the features of the sets."""
        told = describe_sets(x, same, scores, self.sets)
        seen = Seen(told, FeatureViews.of(told[self.question.parts.train], seed=seed))
        attacks, _ = fresh_attacks(self.question, seen, _ON_SETS, seed=seed, twice=False)
        return tuple(replace(a(), name=f"people-{a.name}") for a in attacks)


def _why_not(attribute: Attribute, parts: AttackParts) -> str:
    """Why no attacker can be trained on whole people; empty if one can."""
    if parts.units is None:
        return "no column says which records are of one person"
    why = why_not_linked(attribute.rows(parts.test), parts.units[parts.test])
    if not why and tells_group(attribute, parts.units):
        return "the attribute is the person"
    return why


def _apart(parts: AttackParts) -> tuple[Rows, Rows, Rows]:
    """Train, val and test without people of a later part: nobody may be recognised."""
    assert parts.units is not None
    who = parts.units
    val = parts.val[~np.isin(who[parts.val], who[parts.test])]
    later = np.concatenate([parts.val, parts.test])
    return parts.train[~np.isin(who[parts.train], who[later])], val, parts.test


def _scores(question: Question, x: FloatArray, seed: int) -> FloatArray:
    """What single records tell, (n, c): log odds of two classes, or centred log-probabilities.

    Each half of the people of train is scored by attackers that are trained on the other half, so
    that a set of train looks like one of test. Val and test get the mean of both.
    """
    parts, attribute = question.parts, question.attribute
    assert parts.units is not None
    train, val, test = _apart(parts)
    names = np.random.default_rng([seed, 0x5E7]).permutation(np.unique(parts.units[train]))
    first = np.isin(parts.units[train], names[: len(names) // 2])
    seen = Seen(x, FeatureViews.of(x[train], seed=seed))
    log_p = np.zeros((len(x), len(attribute.classes)), np.float32)
    for half, rest in ((train[first], train[~first]), (train[~first], train[first])):
        fold = AttackParts(half, val, np.concatenate([rest, test]), parts.units)
        asked = replace(question, parts=fold)
        attacks, _ = fresh_attacks(asked, seen, _ON_RECORDS, seed=seed, twice=False)
        truth = attribute.rows(val)
        surest = choose([Reading.of(a(), truth) for a in attacks], truth)[0].surest
        log_p[rest] = surest.test[: len(rest)]
        log_p[test] += surest.test[len(rest) :] / 2
        log_p[val] += surest.val / 2
    if log_p.shape[1] == 2:
        return log_p[:, 1:] - log_p[:, :1]
    common = np.argsort(-attribute.rows(train).counts, kind="stable")[:_SCORED]
    centred: FloatArray = log_p - log_p.mean(axis=1, keepdims=True)
    return centred[:, common]


def _principal(z: FloatArray, train: Rows) -> FloatArray:
    """Records z (n, d) on their first principal directions."""
    some = z[train[:20_000]].astype(np.float64)
    some -= some.mean(axis=0)
    _, axes = np.linalg.eigh(some.T @ some)
    return z @ np.ascontiguousarray(axes[:, ::-1][:, :_KEPT], dtype=np.float32)


def _one_hot(given: Sequence[Attribute]) -> FloatArray | None:
    """The preserved labels (n, classes of all of them); None if there are none."""
    if not given:
        return None
    columns = []
    for a in given:
        codes = a.codes if a.multilabel else np.eye(len(a.classes) + 1)[a.codes][:, :-1]
        columns.append(np.asarray(codes, np.float32))
    told = np.concatenate(columns, axis=1)
    return told if told.shape[1] <= _WIDEST else _principal(told, np.arange(len(told)))
