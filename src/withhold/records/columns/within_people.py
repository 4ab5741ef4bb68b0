"""What the values of a column in several records of one person reveal together.

If the ward is a fair coin in every record, it tells nothing record by record. If all records of a
woman have one ward and those of a man have both, two records together tell the sex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.guess import WIDEST
from withhold.records.columns.joint import single_labels
from withhold.records.columns.relative_to_person import relative_views
from withhold.records.columns.tells import FEWEST, LEVEL, Telling, how_well_it_tells
from withhold.records.record_sets import AGREE, SIZES, Rows, is_of_people, person_labels
from withhold.records.set_features import describe_sets

Codes = npt.NDArray[np.int64]
# People are fewer than records, so their limit is coarser. With FEWEST people of two equal classes,
# a column that names 28 points more than guessing is found in four of five cases.
GAIN = 0.3
_PEOPLE = 20  # the fewest people for a verdict on an attribute of single records


@dataclass(frozen=True, eq=False)
class PeopleSets:
    """One set of r records of each person who has so many, for up to three numbers r.

    All sets of one r have the same size, so how many records a person has tells nothing here.
    whole: the attributes of people, each with the person's commonest label in every record, and
    sets: (p, r) for each r, to measure them. single: the attributes that differ between the records
    of a person, as they are, and single_sets to measure them; fewer people are enough for these. An
    attribute of people with many mistakes is in both. There are none if nobody has several
    records. people: (n,) whose each record is.
    """

    people: Codes
    whole: tuple[Attribute, ...]
    sets: tuple[Rows, ...]
    single: tuple[Attribute, ...]
    single_sets: tuple[Rows, ...]

    @classmethod
    def of(cls, attributes: Sequence[Attribute], people: Codes) -> PeopleSets:
        """The sets of `people` (n,), for the labels of the same records."""
        if len(np.unique(people)) == len(people):
            return cls(people, (), (), (), ())
        whole, single = [], []
        for attribute in single_labels(attributes):
            if not attribute.known.any():
                continue
            labels = PersonLabels.of(attribute.codes, people)
            if labels.identity:
                continue  # single records measure all that there is
            if labels.of_people:
                whole.append(replace(attribute, codes=labels.codes))
            if not labels.of_people or labels.agree < AGREE:
                single.append(attribute)
        return cls(
            people,
            tuple(whole),
            tuple(_sets(people, FEWEST)) if whole else (),
            tuple(single),
            tuple(_sets(people, _PEOPLE)) if single else (),
        )

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """All attributes to measure."""
        return self.whole + self.single

    def tells(self, encoded: EncodedColumn) -> list[Telling]:
        """What a column reveals of each attribute, on people whom the models have not seen.

        `tells` is None, or there is a `doubt`, if there are too few people for a verdict.
        """
        views = [(sets[:, 0], view) for sets in self.sets for view in _views(encoded, sets)]
        beside = [
            (sets.reshape(-1), view)
            for sets in self.single_sets
            for view in relative_views(encoded, sets)
        ]
        tests = max(len(views) * len(self.whole) + len(beside) * len(self.single), 1)
        found = [_worst(attribute, views, tests) for attribute in self.whole]
        return found + [_worst(a, beside, tests, people=self.people) for a in self.single]


@dataclass(frozen=True, eq=False)
class PersonLabels:
    """The commonest label of each record's person, codes (n,), -1 if none of the person is known.

    agree: the share of labelled records that have it. of_people: whether the attribute is one of
    people, with mistakes. identity: whether every person has a label of its own.
    """

    codes: Codes
    agree: float
    of_people: bool
    identity: bool

    @classmethod
    def of(cls, codes: Codes, people: Codes) -> PersonLabels:
        """Of the labels `codes` (n,), at least one of them known, and people (n,)."""
        known = np.flatnonzero(codes >= 0)
        values, own = np.unique(codes[known], return_inverse=True)
        names, member = np.unique(people[known], return_inverse=True)
        own, member = own.reshape(-1).astype(np.int64), member.reshape(-1).astype(np.int64)
        pairs = len(np.unique(member * len(values) + own))
        if pairs == len(values) == len(names):  # before a table of all people by all of them
            return cls(codes, 1.0, of_people=True, identity=True)
        label, agree = person_labels(own, member)
        of_person = np.empty(len(names), np.int64)
        of_person[member] = values[label]
        of_people = is_of_people(own, member)
        identity = of_people and len(np.unique(of_person)) == len(names)
        place = np.minimum(np.searchsorted(names, people), len(names) - 1)
        labels = np.where(names[place] == people, of_person[place], -1)
        return cls(labels, agree, of_people, identity)


def _worst(
    attribute: Attribute,
    views: Sequence[tuple[Rows, EncodedColumn]],
    tests: int,
    *,
    people: Codes | None = None,
) -> Telling:
    """The view that reveals most of an attribute, with its p-value after `tests` tests.

    people (n,): if the views are of single records, whose they are.
    """
    told = [
        how_well_it_tells(
            view, attribute.rows(of), groups=None if people is None else people[of], gain=GAIN
        )
        for of, view in views
    ]
    checked = [t for t in told if t.checked]
    if not checked:
        nothing = float("nan")
        return Telling(attribute.name, nothing, attribute.majority, 0.0, nothing, 1.0, None)
    best = min(checked, key=lambda t: (t.chance, -t.accuracy))
    chance = min(best.chance * tests, 1.0)
    # Only every second view, the number of values, has values that may be those of a rare class.
    doubt = "" if chance < LEVEL else next((t.doubt for t in told[::2] if t.doubt), "")
    return replace(best, chance=chance, tells=chance < LEVEL, doubt=doubt)


def _views(encoded: EncodedColumn, sets: Rows) -> Iterator[EncodedColumn]:
    """The column on each set (p, r): how many different values it has, and features of the set."""
    same = encoded.codes[sets]
    ordered = np.sort(same, axis=1)
    differ = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1).astype(np.int64)
    number = np.unique(differ, return_inverse=True)[1].reshape(-1).astype(np.int64)
    yield EncodedColumn(differ[:, None].astype(np.float32), "number", number)
    x = encoded.x[:, :WIDEST].astype(np.float64)
    scale = x.std(axis=0)
    z = ((x - x.mean(axis=0)) / np.where(scale > 0, scale, 1.0)).astype(np.float32)
    told = describe_sets(z, encoded.codes, z[:, :0], sets)
    # No two sets count as equal, and their order, which may be that of the ids, tells nothing.
    order = np.random.default_rng(0x5E75).permutation(len(sets)).astype(np.int64)
    yield EncodedColumn(told, "set", order)


def _sets(people: Codes, fewest: int) -> Iterator[Rows]:
    """Sets (p, r) of every person with r records, for the numbers r that `fewest` people have."""
    records = np.unique(people, return_counts=True)[1]
    # All people with several records have two, half have the median; the largest sets tell most.
    median = int(np.median(records[records > 1]))
    able = [r for r in sorted({2, median, *SIZES}) if (records >= r).sum() >= fewest]
    sizes = {2, max(r for r in able if r <= median), able[-1]} if able else set()
    order = np.lexsort((np.random.default_rng([0, 0x11]).random(len(people)), people))
    first = np.cumsum(records) - records
    for r in sorted(sizes):
        yield order[first[records >= r][:, None] + np.arange(r)]
