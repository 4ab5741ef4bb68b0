"""The certificate of a given release: exact, about the rows that leave and no others.

The population is the release itself, n rows with classes s_i and codes j_i, as they were drawn,
and preserved labels u_i, which the attacker is taken to know. The attacker may also know every
original and label, the codes, the key and the whole table c_sju = #{i: s_i = s, j_i = j, u_i = u},
but not which row is whose. Shown one row, the attacker is

    right with probability at most  sum_ju max_s c_sju / n.

No sampling, no margin, no confidence level: every rule from (code, preserved labels) to classes is
right on exactly sum_ju c_{g(j,u), ju} of the rows. Without preserved labels it is sum_j max_s c_sj.
`linked` and `known` are of the same table (see `linked_bound` and `elimination_bound`), exact where
that is affordable; otherwise the error of the Monte Carlo is added to them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.certificate.bound import Table, plug_in
from withhold.certificate.claims import ReleaseClaim
from withhold.certificate.count_table import CountTable
from withhold.certificate.elimination_bound import DELTA, known_bounds, measured_rates
from withhold.certificate.leaving_rows import LeavingRows
from withhold.certificate.linked_bound import SIZES, linked_rate
from withhold.certificate.targets import JOINT, single, together
from withhold.records.attribute import Attribute

IntArray = npt.NDArray[np.int64]
PEOPLE = 5000  # of more, r rows of one person are not counted
_PEOPLE = "\0people"  # ends the name of a table of several labels by person


class ReleaseTally:
    """Counts of the rows that leave, class by code, for each suppressed attribute.

    Filled batch by batch; its memory is that of the pairs (class, code) that occur, for each
    preserved value, and does not grow with the rows.
    """

    def __init__(self, *, suppress: Sequence[str], preserve: Sequence[str] = ()) -> None:
        self.suppress, self.preserve = tuple(suppress), tuple(preserve)
        self.reasons: dict[str, str] = {}
        self._tables: dict[str, CountTable] = {}
        self._labelled: dict[str, CountTable] = {}  # rows of several labels, as if without any
        self._parts: dict[str, list[str]] = {}  # its labels seen so far
        self._people: dict[str, CountTable] = {}  # counts by person and class
        self.unknown: set[str] = set()  # preserved attributes that some rows had no column of
        self._rows = 0

    def add(
        self,
        drawn: IntArray,
        labels: Mapping[str, Attribute],
        people: Sequence[str] | None = None,
    ) -> None:
        """Rows that leave: codes (n,), the labels of the same rows, and whose they are if known.

        Suppressed attributes that `labels` does not have are not certified; `reasons` says so.
        """
        self._rows += len(drawn)
        self.unknown |= {name for name in self.preserve if name not in labels}
        given = [labels[name] for name in self.preserve if name in labels]
        told = preserved_names(given, len(drawn))
        targets = []
        for name in self.suppress:
            if name not in labels:
                self.reasons[name] = f"the rows that leave have no labels of '{name}'"
            elif labels[name].multilabel:
                self._add_labels(self._tables, name, labels[name], drawn, told)
                if people is not None:
                    self._add_labels(self._people, name, labels[name], drawn, told, people)
            else:
                targets.append(labels[name])
        joint = together(targets) if len(targets) == len(self.suppress) else None
        for target in [*targets, *([joint] if joint is not None else [])]:
            table = self._tables.setdefault(target.name, CountTable())
            values = [target.classes[c] if c >= 0 else None for c in target.codes]
            table.add(drawn, told, values)
            if people is not None:
                # A person's rows of one class; codes and preserved values tell apart as above.
                whose = _of_person(values, people)
                self._people.setdefault(target.name, CountTable()).add(drawn, told, whose)

    def _add_labels(
        self,
        tables: dict[str, CountTable],
        name: str,
        attribute: Attribute,
        drawn: IntArray,
        told: list[str],
        people: Sequence[str] | None = None,
    ) -> None:
        """A multi-label attribute, label by label; with `people`, by person as well.

        A batch of lists of tags names the tags that occur in it: for every other tag, before and
        after, its rows are rows without that tag.
        """
        which = name if people is None else f"{name}{_PEOPLE}"
        parts = self._parts.setdefault(which, [])
        everyone = self._labelled.setdefault(which, CountTable())
        for one in single(attribute):
            if one.name not in tables:
                tables[one.name] = everyone.copy()
                parts.append(one.name)
            values = [None if c < 0 else one.classes[c] for c in one.codes]
            tables[one.name].add(drawn, told, _of_person(values, people))
        here = {one.name for one in single(attribute)}
        absent = _of_person(["0" if k else None for k in attribute.known], people)
        for label in parts:
            if label not in here:
                tables[label].add(drawn, told, absent)
        everyone.add(drawn, told, absent)

    def merge(self, other: ReleaseTally) -> None:
        """Add the counts of other rows, as if `add` had seen them here."""
        for which in (*other._labelled, *other._parts):
            self._labelled.setdefault(which, CountTable())
            self._parts.setdefault(which, [])
        for which, everyone in other._labelled.items():
            tables, others = (
                (t._people if which.endswith(_PEOPLE) else t._tables) for t in (self, other)
            )
            for label in other._parts[which]:
                if label not in tables:
                    # Rows before had none of these labels.
                    tables[label] = self._labelled[which].copy()
                    self._parts[which].append(label)
                tables[label].merge(others[label])
            for label in self._parts[which]:
                if label not in other._parts[which]:
                    tables[label].merge(everyone)
        several = {label for parts in other._parts.values() for label in parts}
        for ours, theirs in ((self._tables, other._tables), (self._people, other._people)):
            for name, table in theirs.items():
                if name not in several:
                    ours.setdefault(name, CountTable()).merge(table)
        for which, everyone in other._labelled.items():
            self._labelled[which].merge(everyone)
        self.reasons |= other.reasons
        self.unknown |= other.unknown
        self._rows += other._rows

    def to_json(self) -> dict[str, Any]:
        """All counts; `from_json` reads them."""
        tables = {"tables": self._tables, "labelled": self._labelled, "people": self._people}
        return {
            **{
                kind: {name: table.to_json() for name, table in found.items()}
                for kind, found in tables.items()
            },
            "parts": self._parts,
            "reasons": self.reasons,
            "unknown": sorted(self.unknown),
            "rows": self._rows,
        }

    @classmethod
    def from_json(
        cls, found: dict[str, Any], *, suppress: Sequence[str], preserve: Sequence[str]
    ) -> ReleaseTally:
        """The tally with these counts."""
        made = cls(suppress=suppress, preserve=preserve)
        made._tables, made._labelled, made._people = (
            {name: CountTable.from_json(rows) for name, rows in found[kind].items()}
            for kind in ("tables", "labelled", "people")
        )
        made._parts, made.reasons = found["parts"], found["reasons"]
        made.unknown, made._rows = set(found["unknown"]), found["rows"]
        return made

    def _of_people(self, name: str) -> tuple[Table, IntArray] | None:
        """Counts of people (P, M) and the class of each (P,), where people were named.

        Where every class is one person, that is the table of classes again.
        """
        table = self._people.get(name)
        if table is None or not 1 < len(table.classes) <= PEOPLE:
            return None
        names = [json.loads(c)[1] for c in table.classes]
        classes = np.unique(names, return_inverse=True)[1].reshape(-1)
        return table.counts(), classes

    def claims(
        self,
        codes: npt.NDArray[np.floating] | None = None,
        *,
        leave: LeavingRows | None = None,
    ) -> dict[str, ReleaseClaim]:
        """What is certified of each attribute, and of all together.

        With the code vectors (N, d), elimination is measured on groups of near codes as well.
        leave: how many of the rows leave, where the others are held back at random.
        """
        found = {}
        for name, table in self._tables.items():
            counts = table.counts()
            members = name.split(",")
            if len(members) > 1 and len(counts) > JOINT:
                self.reasons[name] = f"{len(counts):,} combinations are too many to certify"
            elif (counts.sum(axis=1) > 0).sum() < 2:
                self.reasons[name] = f"the rows that leave have fewer than two classes of '{name}'"
            elif name not in self.reasons:
                drawn, values = table.columns
                found[name] = release_claim(
                    counts,
                    floor=table.floor,
                    missing=self._rows - int(counts.sum()),
                    codes_used=table.codes_used,
                    people=self._of_people(name),
                    codes=None if codes is None else codes[drawn],
                    values=None if codes is None else values,
                    leave=leave,
                )
        return found


def release_claim(
    counts: Table,
    *,
    floor: float,
    missing: int = 0,
    codes_used: int | None = None,
    people: tuple[Table, IntArray] | None = None,
    codes: npt.NDArray[np.floating] | None = None,
    values: IntArray | None = None,
    leave: LeavingRows | None = None,
) -> ReleaseClaim:
    """The claim about rows with counts (K, N) of classes by codes, or by pairs of code and
    preserved value. With `people`, `linked` is the larger of r rows of a class and of a person.

    codes: (N, d), the code vector of each column, and values: (N,), its preserved value, for the
    measured attack on groups of near codes. leave: how many of the rows leave, where the others are
    held back: every row is as likely to leave, so `one` holds for one that does. So does `linked`,
    if r rows of its class leave (see `LeavingRows`). `known` is for whoever does not know which
    ones left. Attacks are not measured then: what they read of the rows that leave would tell their
    classes.
    """
    n = int(counts.sum())
    one = plug_in(counts, n)
    linked, before = {}, one
    for r in SIZES:
        # More records never tell less; the maximum keeps Monte Carlo error from saying so.
        before = max(before, _linked(counts, r, None, leave))
        if people is not None:
            before = max(before, _linked(people[0], r, people[1], leave))
        linked[str(r)] = before
    # Of rows without a label it is not known how many leave; if none does, the bound is highest.
    bounds = known_bounds(counts, leave=None if leave is None else min(leave.rows, n))
    known = {share: max(bound, one) for share, bound in bounds.items()}
    return ReleaseClaim(
        records=n,
        missing=missing,
        classes=int((counts.sum(axis=1) > 0).sum()),
        codes_used=int((counts.sum(axis=0) > 0).sum()) if codes_used is None else codes_used,
        floor=floor,
        one=one,
        linked=linked,
        known=known,
        measured=measured_rates(counts, codes, values=values) if leave is None else {},
    )


def _linked(counts: Table, r: int, classes: IntArray | None, leave: LeavingRows | None) -> float:
    """What r rows of one class, or of one person, tell at most: (K, N), or (P, N) and (P,)."""
    whole = linked_rate(counts, r, classes=classes).at_most(DELTA)
    too_few = 0.0 if leave is None else leave.too_few(counts.sum(axis=1), r)
    return min(whole + too_few, 1.0)


def _of_person(values: Sequence[str | None], people: Sequence[str] | None) -> Sequence[str | None]:
    """The class of each row, with its person where people are named."""
    if people is None:
        return values
    pairs = zip(people, values, strict=True)
    return [None if v is None else json.dumps([p, v]) for p, v in pairs]


def preserved_names(given: Sequence[Attribute], n: int) -> list[str]:
    """The preserved values of each row as one text, the same in every batch: (n,)."""
    if not given:
        return [""] * n
    columns = [_names(a) for a in given]
    return [json.dumps(row, ensure_ascii=False) for row in zip(*columns, strict=True)]


def _names(attribute: Attribute) -> list[str | list[str] | None]:
    """The value of each row; of a multi-label attribute the labels that it has."""
    if not attribute.multilabel:
        return [attribute.classes[c] if c >= 0 else None for c in attribute.codes]
    has = attribute.codes == 1
    return [
        sorted(attribute.classes[i] for i in np.flatnonzero(row)) if known else None
        for row, known in zip(has, attribute.known, strict=True)
    ]
