"""Attackers on a record among the others of its person, and on how many records a person has.

An attribute may differ between the records of one person, such as pain at a visit: then a record
tells by how it differs from the others. And if women have eight records and men six, the number
tells, whatever the records say. People of test are never learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import Question
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.people_sets import FEWEST_TO_LEARN, run_attackers
from withhold.audit.scores_of_records import people_apart_in
from withhold.audit.split import AttackParts
from withhold.records.attribute import Attribute
from withhold.records.column_codes import ColumnCodes
from withhold.records.own_records import describe_among_own, describe_people
from withhold.records.record_sets import PEOPLE, Rows, person_labels


@dataclass(frozen=True, eq=False)
class OwnScores:
    """What attackers say of records, or of people, of val and test.

    val, test: the true classes. units: the person of each of test. told: attackers that see only
    the preserved labels, which give the floor. records: how many records of a person are seen.
    """

    val: Attribute
    test: Attribute
    units: Rows
    outcomes: tuple[Outcome, ...]
    told: tuple[Outcome, ...]
    records: int


def attack_among_own(
    question: Question,
    views: Sequence[FloatArray],
    columns: ColumnCodes | None,
    given: FloatArray | None,
    seed: int,
) -> OwnScores:
    """Attack each record relative to the others of its person.

    views: descriptions (n, d) of the records, of which each gets attackers. given (n, k): the
    preserved labels.
    """
    parts = _apart(question.parts)
    assert parts.units is not None
    asked = replace(question, parts=parts, given=(), notes=())
    outcomes: tuple[Outcome, ...] = ()
    for place, v in enumerate(views):
        told = describe_among_own(v, parts.units, columns if place == len(views) - 1 else None)
        prefix = "among own records" if place == 0 else "among own records, columns"
        outcomes += run_attackers(asked, told, seed, prefix=prefix)
    alone: tuple[Outcome, ...] = ()
    if given is not None:
        told = describe_among_own(given, parts.units, None)
        alone = run_attackers(asked, told, seed, prefix="preserved labels")
    val, test = (question.attribute.rows(rows) for rows in (parts.val, parts.test))
    return OwnScores(val, test, parts.units[parts.test], outcomes, alone, 1)


def attack_number(
    question: Question,
    records: Rows,
    v: FloatArray,
    columns: ColumnCodes | None,
    given: FloatArray | None,
    seed: int,
) -> OwnScores | None:
    """Attack people by how many records they have, alone and beside what all of these say.

    records (n,): how many records the person of each record has in the release; v (n, d): the
    records. None if the people to learn from all have the same number.
    """
    parts = _apart(question.parts)
    assert parts.units is not None
    if len(np.unique(records[parts.train])) < 2:
        return None
    used = np.concatenate([parts.train, parts.val, parts.test])
    units, attribute = parts.units[used], question.attribute
    names, first = np.unique(units, return_index=True)
    label, _ = person_labels(attribute.codes[used], units)
    train, val, test = (
        np.searchsorted(names, np.unique(parts.units[rows]))
        for rows in (parts.train, parts.val, parts.test)
    )
    people = replace(attribute, codes=label[first])
    asked = replace(
        question,
        attribute=people,
        parts=AttackParts(train, val, test, np.arange(len(names))),
        given=(),
        notes=(),
    )
    count = records[used][first].astype(np.float64)
    number = np.stack([count, np.log(count)], axis=1).astype(np.float32)
    outcomes = run_attackers(asked, number, seed, prefix="number of records")
    theirs = None if columns is None else columns.on(used)
    beside = np.concatenate([number, describe_people(v[used], units, theirs)], axis=1)
    outcomes += run_attackers(asked, beside, seed, prefix="number and records")
    alone: tuple[Outcome, ...] = ()
    if given is not None:
        told = describe_people(given[used], units, None)
        alone = run_attackers(asked, told, seed, prefix="preserved labels")
    shown = round(float(np.median(count[test])))
    return OwnScores(people.rows(val), people.rows(test), test, outcomes, alone, shown)


def too_few_people(question: Question) -> str:
    """Why attackers can learn nothing about people; empty if they can."""
    attribute, parts = question.attribute, _apart(question.parts)
    assert parts.units is not None
    fewest = (FEWEST_TO_LEARN, PEOPLE, PEOPLE)
    for rows, least in zip((parts.train, parts.val, parts.test), fewest, strict=True):
        if len(np.unique(parts.units[rows])) < least:
            return "train, val or test has too few people"
    if len(np.unique(attribute.codes[parts.train])) < 2:
        return "all people to learn from have one class"
    return ""


def _apart(parts: AttackParts) -> AttackParts:
    """The parts without people of a later part."""
    train, val, test = people_apart_in(parts)
    return replace(parts, train=train, val=val, test=test)
