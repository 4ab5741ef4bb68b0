"""Attackers that are trained on sets of r records of one person."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import Question, Seen, fresh_attacks
from withhold.audit.attackers import Attacker, Logistic, Trees
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.attackers.trees import telling
from withhold.audit.feature_views import FeatureViews
from withhold.audit.scores_of_records import people_apart_in
from withhold.audit.split import AttackParts
from withhold.records.attribute import Attribute
from withhold.records.column_codes import ColumnCodes, describe_columns
from withhold.records.record_sets import PEOPLE, Rows, add_up, draw_sets, person_labels
from withhold.records.set_features import describe_sets

COLUMNS_ADDED_UP = "columns added up"
FEWEST_TO_LEARN = 10  # people with r records
ON_SETS: tuple[Attacker, ...] = (Logistic(), Trees(rounds=100, patience=8, budget=3e8))
_TELLING = 24  # features of columns together that attackers get


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
class RecordSets:
    """Sets (b, r) of train, val and test, as a question about sets."""

    sets: Rows
    question: Question
    val_places: Rows

    @classmethod
    def of(cls, question: Question, r: int, seed: int) -> RecordSets:
        """Sets of r records of the people of each part; nobody is in two parts."""
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
        return run_attackers(self.question, told, seed, prefix=prefix)

    def attack_columns(self, columns: ColumnCodes, seed: int) -> tuple[Outcome, ...]:
        """Attackers on how the columns go together in the sets, by what tells most in train.

        There are hundreds of pairs and triples of columns, and few people: most are noise.
        """
        told = describe_columns(columns, self.sets)
        train = self.question.parts.train
        best = telling(told[train], self.question.attribute.rows(train), _TELLING)
        return run_attackers(self.question, told[:, best], seed, prefix="people-together")


@dataclass(frozen=True, eq=False)
class WithColumns:
    """Records in the columns beside the features and the features, x (n, d).

    same (n,): equal numbers for records that are equal in all columns. log_p (n, k): what attackers
    on single records say; scores (n, c): the same as features of sets.
    """

    x: FloatArray
    same: Rows
    log_p: FloatArray
    log_prior: FloatArray
    scores: FloatArray

    def attack(self, sets: RecordSets, seed: int) -> tuple[Outcome, ...]:
        """Attackers on sets, and the scores of their single records added up."""
        parts = sets.question.parts
        val, test = (
            add_up(self.log_p, self.log_prior, sets.sets[part]) for part in (parts.val, parts.test)
        )
        added_up = Outcome(COLUMNS_ADDED_UP, val, test, None, None, 0.0)
        learned = sets.attack(self.x, self.same, self.scores, seed, prefix="people-columns")
        return (*learned, added_up)


def allows(question: Question, r: int) -> bool:
    """Whether enough people of each part have r records, and train has two classes of them."""
    parts, attribute = question.parts, question.attribute
    assert parts.units is not None
    fewest = (FEWEST_TO_LEARN, PEOPLE, PEOPLE)
    for part, (rows, least) in enumerate(zip(people_apart_in(parts), fewest, strict=True)):
        names, records = np.unique(parts.units[rows], return_counts=True)
        able = rows[np.isin(parts.units[rows], names[records >= r])]
        if (records >= r).sum() < least:
            return False
        if part == 0 and len(np.unique(attribute.codes[able])) < 2:
            return False
    return True


def run_attackers(
    question: Question, x: FloatArray, seed: int, *, prefix: str
) -> tuple[Outcome, ...]:
    """Attackers on sets, people or records as x (n, d) describes them."""
    seen = Seen(x, FeatureViews.of(x[question.parts.train], seed=seed))
    attacks, _ = fresh_attacks(question, seen, ON_SETS, seed=seed, twice=False)
    return tuple(replace(a(), name=f"{prefix}-{a.name}") for a in attacks)
