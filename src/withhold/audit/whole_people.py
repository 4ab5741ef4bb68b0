"""Attackers that are trained on whole people: sets of r records of one person.

Adding up the scores of single records misses how the records of a person vary together. If the
records of women are alike and those of men are not, no single record tells, and five of them do.
The same holds for the other columns of a release, so these attackers see them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import Question, Seen, fresh_attacks
from withhold.audit.attackers import Attacker, Logistic, Trees
from withhold.audit.attackers.attacker import FloatArray, log_shares
from withhold.audit.feature_views import FeatureViews
from withhold.audit.released_columns import BesideFeatures
from withhold.audit.scores_of_records import (
    ON_RECORDS,
    log_p_of_records,
    people_apart_in,
    scores_of_records,
)
from withhold.audit.split import AttackParts, tells_group
from withhold.records.attribute import Attribute
from withhold.records.record_sets import (
    PEOPLE,
    Rows,
    add_up,
    draw_sets,
    person_labels,
    set_sizes,
    why_not_linked,
)
from withhold.records.set_features import describe_sets, distinct_rows

COLUMNS_ADDED_UP = "columns added up"
_TRAIN = 10  # the fewest people with r records to learn from
_MANY, _KEPT = 64, 32  # beside more features than _MANY, sets show _KEPT principal directions
_WIDEST = 512  # with more features, sets show principal directions alone
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
    features. same (n,): equal numbers for equal records. beside: the other columns of a release for
    the same n records; None if there are none.
    """

    question: Question
    records: FloatArray
    rows: Rows
    main: FloatArray
    same: Rows
    seed: int
    why_not: str = ""
    beside: BesideFeatures | None = None

    @classmethod
    def of(
        cls, question: Question, seen: Seen, *, seed: int, beside: BesideFeatures | None = None
    ) -> WholePeopleTask:
        """The task on the records of the question's parts; an empty one if it cannot be done.

        beside: the other columns of the release, for these records at least.
        """
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
        same = distinct_rows(seen.x[rows])
        columns = None if beside is None else beside.on(rows)
        return cls(some, shared, rows, main, same, seed, beside=columns)

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        if self.why_not:
            return 0.01
        n, d = len(self.question.parts.train), self.records.shape[1] + self.main.shape[1]
        d += 0 if self.beside is None else self.beside.x.shape[1] + min(d, _MANY)
        k, sets = len(self.question.attribute.classes), min(n, 2000)
        single = 2 * sum(a.cost(n, d, k) for a in ON_RECORDS)
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
        log_p = log_p_of_records(self.question, x, self.seed)
        scores, columns = scores_of_records(self.question, log_p), self._with_columns()
        given = _one_hot(self.question.given)
        found = {}
        for r in sizes:
            sets = _Sets.of(self.question, r, self.seed)
            told: tuple[Outcome, ...] = ()
            if given is not None:
                told = sets.attack(given, distinct_rows(given), scores[:, :0], self.seed)
            outcomes = sets.attack(x, self.same, scores, self.seed)
            if columns is not None:
                outcomes += columns.attack(sets, self.seed)
            found[r] = SetScores(sets.val_places, sets.truth, outcomes, told)
        return WholePeople(found)

    def _with_columns(self) -> _WithColumns | None:
        """The records in the features and all other columns, if there are any."""
        if self.beside is None:
            return None
        # Many features would hide a few columns, so there they are seen in their main directions.
        few = self.main if self.main.shape[1] else self.records[self.rows]
        x = np.concatenate([self.beside.x, few], axis=1)
        log_p = log_p_of_records(self.question, x, self.seed)
        prior = log_shares(self.question.attribute.rows(self.question.parts.train))
        return _WithColumns(
            x, self.beside.same, log_p, prior, scores_of_records(self.question, log_p)
        )

    def _allows(self, r: int) -> bool:
        """Whether enough people of each part have r records, and train has two classes of them."""
        parts, attribute = self.question.parts, self.question.attribute
        assert parts.units is not None
        for rows, least in zip(people_apart_in(parts), (_TRAIN, PEOPLE, PEOPLE), strict=True):
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
        for i, rows in enumerate(people_apart_in(parts)):
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
        self, x: FloatArray, same: Rows, scores: FloatArray, seed: int, prefix: str = "people"
    ) -> tuple[Outcome, ...]:
        """Attackers on the features of the sets."""
        told = describe_sets(x, same, scores, self.sets)
        seen = Seen(told, FeatureViews.of(told[self.question.parts.train], seed=seed))
        attacks, _ = fresh_attacks(self.question, seen, _ON_SETS, seed=seed, twice=False)
        return tuple(replace(a(), name=f"{prefix}-{a.name}") for a in attacks)


@dataclass(frozen=True, eq=False)
class _WithColumns:
    """Records in the columns beside the features and the features, x (n, d).

    same (n,): equal numbers for records that are equal in all columns. log_p (n, k): what attackers
    on single records say; scores (n, c): the same as features of sets.
    """

    x: FloatArray
    same: Rows
    log_p: FloatArray
    log_prior: FloatArray
    scores: FloatArray

    def attack(self, sets: _Sets, seed: int) -> tuple[Outcome, ...]:
        """Attackers on sets, and the scores of their single records added up."""
        parts = sets.question.parts
        val, test = (
            add_up(self.log_p, self.log_prior, sets.sets[part]) for part in (parts.val, parts.test)
        )
        added_up = Outcome(COLUMNS_ADDED_UP, val, test, None, None, 0.0)
        learned = sets.attack(self.x, self.same, self.scores, seed, prefix="people-columns")
        return (*learned, added_up)


def _why_not(attribute: Attribute, parts: AttackParts) -> str:
    """Why no attacker can be trained on whole people; empty if one can."""
    if parts.units is None:
        return "no column says which records are of one person"
    why = why_not_linked(attribute.rows(parts.test), parts.units[parts.test])
    if not why and tells_group(attribute, parts.units):
        return "the attribute is the person"
    return why


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
