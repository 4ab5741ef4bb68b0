"""Columns that reveal something only together, and only in several records of one person.

If the XOR of two flags is constant for a woman and a coin in every record of a man, neither flag
tells the sex in one record or in several, and both do not in one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.power import smallest_gain
from withhold.records.columns.set_statistics import SetColumn, most_statistics, statistics
from withhold.records.columns.tells import LEVEL, Telling, how_well_it_tells
from withhold.records.columns.together import dependent
from withhold.records.columns.within_people import PeopleSets
from withhold.records.record_sets import Rows

Codes = npt.NDArray[np.int64]
TESTS = 100_000  # most statistics to compute
# Only statistics with such a p-value of chi-squared are cross-fitted: of sets, and of records. For
# records it is too small, because those of a person are not independent.
SCREEN, SCREEN_RECORDS = 1e-3, 1e-5
GAIN = 0.45  # a combination that names 95 % of the people of two equal classes must be found
MANY = "could not be checked: too many columns to try them together on several records of a person"
FEW = "could not be checked together with other columns: too few people for so many columns"
KEEP = "; name it with --keep to release it as it is"


def tells_of_people(
    encoded: Mapping[str, EncodedColumn], people: PeopleSets, alone: Mapping[str, float]
) -> dict[str, Telling | str]:
    """The columns to leave out so that no pair or triple of the others reveals people.

    {column: what it added, or why it could not be checked}. From a combination that reveals
    something, the column that reveals most alone is left out. Pairs and triples get half of the
    level each, divided by the number of tests. If there are too many columns for the limits of cost
    or for the number of people, the last ones are left out.
    alone: {column: the p-value of what it reveals alone}.
    """
    if not people.attributes:
        return {}
    vary = {n: c for n, c in encoded.items() if c.codes.min() != c.codes.max()}
    allowed, why = _allowed(len(vary), people)
    out: dict[str, Telling | str] = dict.fromkeys(list(vary)[allowed:], why)
    left = {n: c for n, c in vary.items() if n not in out}
    for names, told in _telling(left, people):
        worst = min(names, key=lambda n: alone.get(n, 1.0))
        out[worst] = told
        del left[worst]
    return out


def _telling(
    left: dict[str, EncodedColumn], people: PeopleSets
) -> Iterator[tuple[tuple[str, ...], Telling]]:
    """The pairs and triples that reveal something. The caller removes columns from `left`."""
    by_set = [_Sets.of(sets, people, left, by_record=False) for sets in people.sets]
    by_set += [_Sets.of(sets, people, left, by_record=True) for sets in people.single_sets]
    for size in (2, 3):
        level = _level(len(left), size, people)
        for names in combinations(list(left), size):
            if not set(names) <= set(left):
                continue
            found = [t for one in by_set for t in one.tellings(names) if t.chance < level]
            if found:
                yield names, max(found, key=lambda t: t.accuracy)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Columns on sets of one size, and the labels of the sets or, if `by_record`, of the records.

    units: (p * r,) whose each record is; None for sets, of which a person has one.
    """

    columns: Mapping[str, SetColumn]
    attributes: Sequence[Attribute]
    units: Codes | None
    by_record: bool

    @classmethod
    def of(
        cls, sets: Rows, people: PeopleSets, left: Mapping[str, EncodedColumn], *, by_record: bool
    ) -> _Sets:
        columns = {n: SetColumn.of(c, sets, by_record=by_record) for n, c in left.items()}
        if by_record:
            rows = sets.reshape(-1)
            return cls(columns, [a.rows(rows) for a in people.single], people.people[rows], True)
        return cls(columns, [a.rows(sets[:, 0]) for a in people.whole], None, False)

    def tellings(self, names: Sequence[str]) -> Iterator[Telling]:
        """What the statistics of some columns reveal, if they depend on an attribute."""
        screen = SCREEN_RECORDS if self.by_record else SCREEN
        for codes in statistics([self.columns[n] for n in names], by_record=self.by_record):
            for attribute in self.attributes:
                if not dependent([codes], attribute.codes, screen):
                    continue
                view = EncodedColumn(codes[:, None].astype(np.float32), "number", codes)
                told = how_well_it_tells(view, attribute, groups=self.units)
                if told.checked:
                    yield told


def _tests(size: int, people: PeopleSets) -> int:
    """How many tests a combination of `size` columns takes."""
    whole = len(people.sets) * len(people.whole) * most_statistics(size, by_record=False)
    single = len(people.single_sets) * len(people.single) * most_statistics(size, by_record=True)
    return whole + single


def _level(columns: int, size: int, people: PeopleSets) -> float:
    return LEVEL / 2 / max(comb(columns, size) * _tests(size, people), 1)


def _allowed(columns: int, people: PeopleSets) -> tuple[int, str]:
    """How many columns can be tried together, and why not more."""
    why = ""
    while columns > 1:
        if sum(comb(columns, size) * _tests(size, people) for size in (2, 3)) > TESTS:
            why = MANY + KEEP
        elif any(gain > GAIN for gain in _unnoticed(columns, people)):
            why = FEW + KEEP
        else:
            break
        columns -= 1
    return columns, why


def _unnoticed(columns: int, people: PeopleSets) -> Iterator[float]:
    """For each attribute, the gain in right guesses that a combination could have unnoticed."""
    level = min(_level(columns, size, people) for size in (2, 3))
    rows = [sets[:, 0] for sets in people.sets]
    single_rows = [sets.reshape(-1) for sets in people.single_sets]
    for attributes, able in ((people.whole, rows), (people.single, single_rows)):
        most = max(able, key=len, default=np.zeros(0, np.int64))
        for attribute in attributes:
            some = attribute.rows(most)
            yield smallest_gain(int(some.known.sum()), some.majority, level)
