"""Attackers that are trained on whole people: sets of r records of one person.

Adding up the scores of single records misses how the records of a person vary together. If the
records of women are alike and those of men are not, no single record tells, and five of them do.
The same holds for the other columns of a release, so these attackers see them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import Question, Seen
from withhold.audit.attackers.attacker import FloatArray, log_shares
from withhold.audit.own_records_attack import (
    OwnScores,
    attack_among_own,
    attack_number,
    too_few_people,
)
from withhold.audit.people_sets import ON_SETS, RecordSets, SetScores, WithColumns, allows
from withhold.audit.released_columns import BesideFeatures
from withhold.audit.scores_of_records import ON_RECORDS, log_p_of_records, scores_of_records
from withhold.audit.split import AttackParts, tells_group
from withhold.records.attribute import Attribute
from withhold.records.column_codes import ColumnCodes
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.record_sets import Rows, differs_within, set_sizes, why_not_linked
from withhold.records.set_features import distinct_rows

IS_PERSON = "the attribute is the person"
_MANY, _KEPT = 64, 32  # beside more features than _MANY, sets show _KEPT principal directions
_WIDEST = 512  # with more features, sets show principal directions alone


@dataclass(frozen=True, eq=False)
class WholePeople:
    """What attackers on the people of one attribute say, or why there are none.

    of: by number of records, attackers on sets of records. among: attackers on a record among the
    others of its person, if the attribute differs between them. number: attackers on how many
    records people have, if that differs. why_not: why there is no attacker on sets.
    """

    of: dict[int, SetScores] = field(default_factory=dict)
    among: OwnScores | None = None
    number: OwnScores | None = None
    why_not: str = ""


@dataclass(frozen=True, eq=False)
class WholePeopleTask:
    """The attacks on the people of one attribute. Call it to run it, in any process.

    records (m, d): all released records, standardised; rows (n,): those that it uses, to which the
    question and the others refer. main (n, d'): their principal directions, if there are many
    features. same (n,): equal numbers for equal records. beside: the other columns of a release for
    the same n records; None if there are none. number (n,): how many records the person of each
    record has in all. why_not: why there are no attacks at all.
    """

    question: Question
    records: FloatArray
    rows: Rows
    main: FloatArray
    same: Rows
    seed: int
    why_not: str = ""
    beside: BesideFeatures | None = None
    number: Rows | None = None

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
        assert parts.units is not None
        rows = np.unique(np.concatenate([parts.train, parts.val, parts.test]))
        some = question.on(rows)
        main = np.zeros((len(rows), 0), np.float32)
        if seen.x.shape[1] > _MANY:
            main = _principal(seen.views.see("reduced", seen.x[rows]), some.parts.train)
        # All tasks share the standardised records, so they need no memory of their own.
        shared = seen.view("standard") if seen.x.shape[1] <= _WIDEST else seen.x[:, :0]
        same = distinct_rows(seen.x[rows])
        columns = None if beside is None else beside.on(rows)
        # Records that no attacker uses, such as unlabelled ones, leave as well, and count.
        _, member, counts = np.unique(parts.units, return_inverse=True, return_counts=True)
        number = counts[member.reshape(-1)[rows]]
        return cls(some, shared, rows, main, same, seed, beside=columns, number=number)

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        if self.why_not:
            return 0.01
        n, d = len(self.question.parts.train), self.records.shape[1] + self.main.shape[1]
        d += 0 if self.beside is None else self.beside.x.shape[1] + min(d, _MANY)
        k, sets = len(self.question.attribute.classes), min(n, 2000)
        single = 2 * sum(a.cost(n, d, k) for a in ON_RECORDS)
        together = 3 * sum(a.cost(sets, 4 * d, k) for a in ON_SETS)
        among = sum(a.cost(n, 3 * min(d, _MANY), k) for a in ON_SETS) if self._differs else 0.0
        return float(n * d / 2e6 + single + together + among)

    def __call__(self) -> WholePeople:
        """Attack sets of every size that the data allow, records among their own, and numbers."""
        if self.why_not:
            return WholePeople(why_not=self.why_not)
        parts = self.question.parts
        assert parts.units is not None
        test = parts.units[parts.test]
        why = why_not_linked(self.question.attribute.rows(parts.test), test)
        sizes = [r for r in set_sizes(test) if allows(self.question, r)] if not why else []
        if not why and not sizes:
            why = "train or val has too few people with several records"
        few_people = too_few_people(self.question)
        if few_people:
            return WholePeople(why_not=few_people)
        x = np.concatenate([self.main, self.records[self.rows]], axis=1)
        few, given = self._few, _one_hot(self.question.given)
        log_p = log_p_of_records(self.question, x, self.seed)
        scores = scores_of_records(self.question, log_p)
        columns = self._with_columns()
        whole = np.concatenate([few, scores], axis=1)
        if columns is not None:
            whole = np.concatenate([columns.x, columns.scores, scores], axis=1)
        found = {r: self._sets(r, x, scores, columns, given) for r in sizes}
        among = number = None
        if self._differs:
            views = [np.concatenate([few, scores], axis=1), whole][: 1 if columns is None else 2]
            among = attack_among_own(self.question, views, self._codes, given, self.seed)
        if sizes or not self._differs:
            assert self.number is not None
            number = attack_number(self.question, self.number, whole, self._codes, given, self.seed)
        return WholePeople(found, among, number, why)

    def _sets(
        self,
        r: int,
        x: FloatArray,
        scores: FloatArray,
        columns: WithColumns | None,
        given: FloatArray | None,
    ) -> SetScores:
        """Attackers on sets of r records."""
        sets = RecordSets.of(self.question, r, self.seed)
        told: tuple[Outcome, ...] = ()
        if given is not None:
            told = sets.attack(given, distinct_rows(given), scores[:, :0], self.seed)
        outcomes = sets.attack(x, self.same, scores, self.seed)
        if columns is not None:
            outcomes += columns.attack(sets, self.seed)
        if self._codes is not None:
            outcomes += sets.attack_columns(self._codes, self.seed)
        return SetScores(sets.val_places, sets.truth, outcomes, told)

    @property
    def _differs(self) -> bool:
        """Whether the attribute differs between the records of one person."""
        test, units = self.question.parts.test, self.question.parts.units
        assert units is not None
        return differs_within(self.question.attribute.rows(test), units[test])

    @property
    def _few(self) -> FloatArray:
        """The records in few numbers: many features would hide a few columns."""
        return self.main if self.main.shape[1] else self.records[self.rows]

    @property
    def _codes(self) -> ColumnCodes | None:
        """The columns of the release by their values, and the features as one column more."""
        if self.beside is None or self.beside.codes is None:
            return None
        known = self.beside.codes
        features = EncodedColumn(self.main[:, :0], "features", self.same)
        pairs = [*zip(known.codes.T, known.bins.T, strict=True)]
        if features.distinct < len(self.same):
            pairs.append((features.codes, features.binned()))
        return ColumnCodes.of(pairs)

    def _with_columns(self) -> WithColumns | None:
        """The records in the features and all other columns, if there are any."""
        if self.beside is None or not self.beside.x.shape[1]:
            return None
        x = np.concatenate([self.beside.x, self._few], axis=1)
        log_p = log_p_of_records(self.question, x, self.seed)
        prior = log_shares(self.question.attribute.rows(self.question.parts.train))
        return WithColumns(
            x, self.beside.same, log_p, prior, scores_of_records(self.question, log_p)
        )


def _why_not(attribute: Attribute, parts: AttackParts) -> str:
    """Why no attacker can be trained on whole people; empty if one can."""
    if parts.units is None:
        return "no column says which records are of one person"
    truth, people = attribute.rows(parts.test), parts.units[parts.test]
    why = why_not_linked(truth, people)
    if why and not differs_within(truth, people):
        return why
    return IS_PERSON if tells_group(attribute, parts.units) else ""


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
