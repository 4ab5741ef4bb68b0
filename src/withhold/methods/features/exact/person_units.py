"""One draw per person: rows of one person with the same class and preserved value share a code.

Such rows are a *unit*. A unit is compared with the codes by the mean of its rows: for a metric that
is the mean of the scores of the rows, up to a constant. Units are balanced over cells (class,
preserved value, number of rows). So the code of a unit tells nothing of its class, not even
together with the number of its rows. As every unit of a cell has as many rows, the rows are
balanced as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.core.errors import RecordError, UserError
from withhold.core.keyed import other_key
from withhold.methods.channel import IntArray
from withhold.methods.checked_state import Arrays
from withhold.methods.modifier import FloatArray, State
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.streamed import StreamedDataset

Words = npt.NDArray[np.uint64]
_MANY = 0.1  # share of the rows that deserves a warning
OF_UNITS = "units."  # the beginning of the names of these arrays in a bundle


@dataclass(frozen=True, eq=False)
class PersonUnits:
    """The units of a fit, in the order of their people.

    column: names the person of each row. name (M,): a keyed digest of person, class and value;
    x (M, d): the mean of the rows; s (M,): the class; cell (M,): where it is balanced; whose (M,):
    the number of the person.
    """

    column: str
    name: Words
    x: FloatArray
    s: IntArray
    cell: IntArray
    whose: IntArray

    def find(self, key: bytes, people: Attribute, s: IntArray, u: IntArray) -> IntArray:
        """The unit of each row (n,), from its person, its class s (n,) and its value u (n,)."""
        order = np.argsort(self.name)
        names = unit_names(key, people, s, u)
        place = np.minimum(np.searchsorted(self.name[order], names), len(order) - 1)
        found: IntArray = order[place]
        strange = self.name[found] != names
        if strange.any():
            row = int(np.argmax(strange))
            who = "no person" if people.codes[row] < 0 else "a person and labels"
            raise RecordError(
                row,
                f"has {who} in '{self.column}' that the fit did not see together (per=person);"
                " release the records that were fitted, or fit these",
            )
        return found

    def state(self) -> State:
        """The arrays that `from_arrays` needs."""
        arrays: State = {
            "name": self.name, "x": self.x, "s": self.s, "cell": self.cell, "whose": self.whose,
        }  # fmt: skip
        return {f"{OF_UNITS}{k}": v for k, v in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, column: str, *, classes: int, cells: int) -> PersonUnits:
        """The units that were saved."""
        name = np.array(arrays.take_any(f"{OF_UNITS}name", "M"))
        x = arrays.take(f"{OF_UNITS}x", "M", "d")
        numbers = [np.array(arrays.take_any(f"{OF_UNITS}{k}", "M")) for k in ("s", "cell", "whose")]
        whole = name.dtype == np.uint64 and len(np.unique(name)) == len(name) > 0
        for array, most in zip(numbers, (classes, cells, len(name)), strict=True):
            whole = (
                whole and array.dtype == np.int64 and bool(0 <= array.min() <= array.max() < most)
            )
        if not whole:
            raise UserError(
                "arrays 'units' of the modifier name no units; restore the bundle, or fit again"
            )
        return cls(column, name, x, *numbers)


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Units before they are balanced: who (M,), s (M,), u (M,), their number of rows (M,) and mean
    x (M, d); unit (n,) of each row."""

    people: Attribute
    who: IntArray
    s: IntArray
    u: IntArray
    rows: IntArray
    x: FloatArray
    unit: IntArray

    @classmethod
    def of(cls, dataset: Dataset, roles: Roles, s: IntArray, u: IntArray) -> UnitRows:
        """The units of all rows, from their class s (n,) and preserved value u (n,)."""
        people = _people(dataset, roles)
        found, unit, rows = np.unique(
            np.stack([people.codes, s, u]), axis=1, return_inverse=True, return_counts=True
        )
        unit = unit.reshape(-1)
        order = np.argsort(unit, kind="stable")
        starts = np.cumsum(rows) - rows
        sums = np.add.reduceat(dataset.x[order], starts, axis=0, dtype=np.float64)
        x = (sums / rows[:, None]).astype(np.float32)
        return cls(people, found[0], found[1], found[2], rows.astype(np.int64), x, unit)

    def notes(self, each: int) -> Iterator[str]:
        """A warning if many rows are of units with a number of rows that few units share."""
        cells = np.unique(np.stack([self.s, self.u, self.rows]), axis=1, return_inverse=True)[1]
        alike = np.bincount(cells.reshape(-1))[cells.reshape(-1)]
        few = float(self.rows[alike < each].sum() / self.rows.sum())
        if few > _MANY:
            yield (
                f"warning: {100 * few:.0f} % of the rows are of people whose number of rows fewer"
                f" than {each} people of their class have: their codes are drawn nearly at random,"
                " so little of these rows is kept; give people the same number of rows (pandas:"
                f" df.groupby({self.people.name!r}).sample(3))"
            )

    def named(self, key: bytes, cell: IntArray) -> PersonUnits:
        """The units with the names that the key gives them, and their cells (M,)."""
        people = Attribute(self.people.name, "categorical", self.people.classes, self.who)
        name = unit_names(key, people, self.s, self.u)
        assert len(np.unique(name)) == len(name)
        whose = np.unique(self.who, return_inverse=True)[1].reshape(-1)
        return PersonUnits(self.people.name, name, self.x, self.s, cell, whose)


def unit_names(key: bytes, people: Attribute, s: IntArray, u: IntArray) -> Words:
    """A keyed 64-bit digest of the person, class and value of each row, (n,)."""
    own = other_key(key, "units of people")
    found, place = np.unique(np.stack([people.codes, s, u]), axis=1, return_inverse=True)
    names = []
    for who, *pair in found.T.tolist():
        text = f"{pair[0]} {pair[1]} {people.classes[who] if who >= 0 else None}"
        names.append(hashlib.blake2b(text.encode(), key=own, digest_size=8).digest())
    return np.frombuffer(b"".join(names), "<u8").astype(np.uint64)[place.reshape(-1)]


def _people(dataset: Dataset, roles: Roles) -> Attribute:
    """The person of each row; refuse data of which it is not known, or that cannot be drawn so."""
    column = dataset.group
    if column is None:
        raise UserError("per=person needs to know who is who; name the person with --group COLUMN")
    if column in roles.suppress:
        raise UserError(
            f"per=person is not possible: '{column}' is the person and is suppressed itself, so"
            " rows of one person are rows of one class already; leave out per=person"
        )
    if isinstance(dataset, StreamedDataset):
        raise UserError(
            f"{dataset.name} is too large for per=person: its features do not fit into memory;"
            " release fewer records, or leave out per=person"
        )
    several = [n for n in roles.suppress if dataset.attribute(n).multilabel]
    if several:
        raise UserError(
            f"per=person is not possible: '{several[0]}' has several labels per record; suppress"
            " one of its labels, or leave out per=person"
        )
    people = dataset.attribute(column)
    if people.multilabel or (people.codes < 0).any():
        missing = f"is missing in {people.missing:,} of {len(dataset):,} records"
        raise UserError(
            f"column '{column}' (--group) {'has lists' if people.multilabel else missing}, and"
            " per=person draws a code for each person; fill it in, or drop these records"
        )
    return people
