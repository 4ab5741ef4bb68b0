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
from withhold.records.columns.tells import FEWEST, LEVEL, Telling, how_well_it_tells
from withhold.records.record_sets import AGREE, SIZES, Rows, draw_sets, person_labels
from withhold.records.set_features import describe_sets

Codes = npt.NDArray[np.int64]
# People are fewer than records, so their limit is coarser. With FEWEST people of two equal classes,
# a column that names 28 points more than guessing is found in four of five cases.
_GAIN = 0.3


@dataclass(frozen=True, eq=False)
class PeopleSets:
    """One set of r records of each person who has so many, for up to three numbers r.

    sets: (p, r) for each r. All sets of one r have the same size, so how many records a person has
    tells nothing here. attributes: those that belong to people, with the person's label in every
    record; none if nobody has several records, so that there is nothing to measure.
    """

    attributes: tuple[Attribute, ...]
    sets: tuple[Rows, ...]

    @classmethod
    def of(cls, attributes: Sequence[Attribute], people: Codes) -> PeopleSets:
        """The sets of `people` (n,), for the labels of the same records."""
        records = np.unique(people, return_counts=True)[1]
        several = records[records > 1]
        theirs = [_of_people(a, people) for a in single_labels(attributes)]
        if not len(several):
            return cls((), ())
        # All of these people have two records, half have the median; the largest sets tell most.
        median = int(np.median(several))
        able = [r for r in sorted({2, median, *SIZES}) if (records >= r).sum() >= FEWEST]
        sizes = {2, max(r for r in able if r <= median), able[-1]} if able else set()
        sets = tuple(_one_of_each(people, r) for r in sorted(sizes))
        return cls(tuple(a for a in theirs if a is not None), sets)

    def tells(self, encoded: EncodedColumn) -> list[Telling]:
        """What a column reveals of each attribute, on people whom the models have not seen.

        `tells` is None, or there is a `doubt`, if there are too few people for a verdict.
        """
        views = [(sets[:, 0], view) for sets in self.sets for view in _views(encoded, sets)]
        tests = max(len(views) * len(self.attributes), 1)
        return [_worst(attribute, views, tests) for attribute in self.attributes]


def _worst(
    attribute: Attribute, views: Sequence[tuple[Rows, EncodedColumn]], tests: int
) -> Telling:
    """The view that reveals most of an attribute, with its p-value after `tests` tests."""
    told = [how_well_it_tells(view, attribute.rows(of), gain=_GAIN) for of, view in views]
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


def _one_of_each(people: Codes, r: int) -> Rows:
    """One set (p, r) of every person with r records or more."""
    sets, owner = draw_sets(people, r, seed=0)
    return sets[np.unique(owner, return_index=True)[1]]


def _of_people(attribute: Attribute, people: Codes) -> Attribute | None:
    """The attribute with the label of the person in every record; None if it is not of people.

    It is not if it differs between the records of a person, or if it is the person itself.
    """
    known = np.flatnonzero(attribute.known)
    if not len(known):
        return None
    label, agree = person_labels(attribute.codes[known], people[known])
    names, first = np.unique(people[known], return_index=True)
    if agree < AGREE or np.bincount(label[first]).max() == 1:
        return None
    place = np.minimum(np.searchsorted(names, people), len(names) - 1)
    codes = np.where(names[place] == people, label[first][place], -1)
    return replace(attribute, codes=codes)
