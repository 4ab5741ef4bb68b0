"""The certificate of a plan in which people draw: one code for a person's rows of one class.

A unit k is all rows of one person with one class and one preserved value; J_k ~ W(j | k), and units
draw by themselves. Rows of one unit share a draw, so figures that assume separate draws are for
rows of different units:

- `one` is sum_ju max_s M_suj / n with M_suj the sum of c_ks W(j | k), where unit k has c_ks rows of
  class s. A row is any of the n with equal probability, so it is exact as before.
- `linked` is for r different units of one class, each as likely as any other, and a row of each.
- `person` is for all rows of one unit, and of one person; see `whole_person`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.certificate.claims import PersonClaim, PlanClaim
from withhold.certificate.plan_tally import PlanTally
from withhold.certificate.targets import together
from withhold.certificate.whole_person import People, UnitLabels, of_unit
from withhold.records.attribute import Attribute

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Entry = tuple[int, str | None, str]  # a unit, the label of a row, and its preserved values


class UnitTally:
    """Rows by unit and label, batch by batch. Its memory grows with the units, not the rows."""

    def __init__(self, suppress: Sequence[str]) -> None:
        self.suppress = tuple(suppress)
        self._rows: dict[str, Counter[Entry]] = {}
        self._codes: dict[int, int] = {}  # by unit

    def add(
        self,
        unit: IntArray,
        labels: Mapping[str, Attribute],
        told: Sequence[str],
        codes: IntArray,
    ) -> None:
        """Rows that leave: units (n,), labels, preserved values as text (n,), drawn codes (n,)."""
        self._codes.update(zip(unit.tolist(), codes.tolist(), strict=True))
        targets = [labels[name] for name in self.suppress if name in labels]
        joint = together(targets) if len(targets) == len(self.suppress) else None
        for target in [*targets, *([joint] if joint is not None else [])]:
            names = [None if c < 0 else target.classes[c] for c in target.codes.tolist()]
            entries = zip(unit.tolist(), names, map(str, told), strict=True)
            self._rows.setdefault(target.name, Counter()).update(entries)

    def merge(self, later: UnitTally) -> None:
        """Add the rows of another tally of the same plan."""
        for name, rows in later._rows.items():
            self._rows.setdefault(name, Counter()).update(rows)
        self._codes |= later._codes

    def to_json(self) -> dict[str, Any]:
        """Counts and codes; `from_json` reads them."""
        rows = [[n, *e, count] for n, rows in self._rows.items() for e, count in rows.items()]
        return {"rows": rows, "codes": [[unit, code] for unit, code in self._codes.items()]}

    @classmethod
    def from_json(cls, suppress: Sequence[str], found: dict[str, Any]) -> UnitTally:
        """The tally with these counts and codes."""
        made = cls(suppress)
        made._codes = dict(found["codes"])
        for name, unit, label, told, count in found["rows"]:
            made._rows.setdefault(name, Counter())[unit, label, told] += count
        return made

    def claim(self, name: str, w: FloatArray, whose: IntArray, *, column: str) -> PlanClaim | None:
        """What is certified of an attribute, or None if it has fewer than two classes.

        w (M, N): the plan of the units; whose (M,): the person of each; column: names the people.
        """
        entries = sorted(
            self._rows.get(name, Counter()).items(), key=lambda e: (e[0][0], str(e[0]))
        )
        labelled = [(entry, count) for entry, count in entries if entry[1] is not None]
        classes = sorted({str(entry[1]) for entry, _ in labelled})
        if len(classes) < 2:
            return None
        size = np.zeros(len(w), np.int64)
        for (unit, _, _), count in entries:  # rows without a label can be seen, too
            size[unit] += count
        place = {c: i for i, c in enumerate(classes)}
        units = UnitLabels(
            unit=np.array([e[0] for e, _ in labelled]),
            label=np.array([place[str(e[1])] for e, _ in labelled]),
            told=[e[2] for e, _ in labelled],
            rows=np.array([count for _, count in labelled]),
            size=size,
        )
        attribute = Attribute(name, "categorical", tuple(classes), units.label)
        drawn_from = w[units.unit]
        by_row, by_unit = PlanTally([name], keep=False), PlanTally([name])
        by_row.add(drawn_from, {name: attribute}, units.told, times=units.rows)
        by_unit.add(drawn_from, {name: attribute}, units.told)
        rows, drawn = by_row.claim(name), by_unit.claim(name)
        assert rows is not None
        assert drawn is not None
        return PlanClaim(
            one=rows.one,
            linked={r: max(bound, rows.one) for r, bound in drawn.linked.items()},
            unequal=max(rows.unequal, drawn.unequal),
            person=self._person(w, units, whose, column, one=rows.one),
        )

    def _person(
        self, w: FloatArray, units: UnitLabels, whose: IntArray, column: str, *, one: float
    ) -> PersonClaim:
        floor, unit = of_unit(w, units)
        unit = max(unit, one)  # more rows never tell less
        people = People.of(units, whose)
        made = PersonClaim(
            column=column,
            people=len(np.unique(whose[units.unit])),
            draws=len(units.unit),
            unit_floor=floor,
            unit=unit,
            reason=people if isinstance(people, str) else None,
        )
        if isinstance(people, str):
            return made
        least, told = people.told(w)
        told, codes = max(told, unit), np.zeros(len(w), np.int64)
        codes[list(self._codes)] = list(self._codes.values())
        beside = max(told, people.with_all_rows(codes))
        return made.model_copy(update={"floor": least, "all_rows": told, "beside": beside})
