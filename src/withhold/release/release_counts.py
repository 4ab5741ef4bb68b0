"""The counts that a certificate is made from. Counts of parts of a release add up to those of all.

So any process can count the rows that it modified: a pass over all records is a map and a sum.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.certificate.given_release import ReleaseTally, preserved_names
from withhold.certificate.plan_tally import PlanTally
from withhold.certificate.unit_tally import UnitTally
from withhold.methods import Channel
from withhold.methods.features.exact import ExactModifier
from withhold.release.modify import Modified
from withhold.release.sample_labels import labels_of


@dataclass
class ReleaseCounts:
    """tally: of the codes, if the method has any; plan: of what the rows drew from, if each drew by
    itself; units: the same if people drew; group: the column that names the person of each row;
    no_people: whether it is absent."""

    tally: ReleaseTally | None = None
    plan: PlanTally | None = None
    units: UnitTally | None = None
    group: str | None = None
    no_people: bool = False

    @classmethod
    def of(cls, bundle: Bundle, *, keep_plan: bool = True) -> ReleaseCounts:
        """Of no rows yet. keep_plan: whether the plan of the first rows is kept; see `PlanTally`"""
        if not isinstance(bundle.modifier, Channel):
            return cls()
        roles, modifier = bundle.roles, bundle.modifier
        made = cls(ReleaseTally(suppress=roles.suppress, preserve=roles.preserve))
        if isinstance(modifier, ExactModifier) and modifier.units is not None:
            made.units = UnitTally(roles.suppress)
        elif modifier.draws_by_row:
            made.plan = PlanTally(roles.suppress, keep=keep_plan)
        return made

    def add(
        self,
        bundle: Bundle,
        made: Modified,
        table: pa.Table,
        multilabel: Mapping[str, Sequence[str]],
        name: str,
    ) -> None:
        """Count rows that leave: their codes, and the source columns with their labels."""
        drawn = made.codes
        if self.tally is None or drawn is None:
            return
        roles = bundle.roles
        labels = labels_of(roles.named, table, multilabel, name)
        group = bundle.input.get("group")
        people = None
        if group is not None and group in table.column_names:
            people = [str(v) for v in table[group].to_pylist()]
            self.group = group
        elif group is not None:
            self.no_people = True
        self.tally.add(drawn, labels, people)
        told = preserved_names([labels[n] for n in roles.preserve if n in labels], len(drawn))
        if self.plan is not None and made.plan is not None:
            self.plan.add(made.plan, labels, told)
        if self.units is not None and made.units is not None:
            self.units.add(made.units, labels, told, drawn)

    def merge(self, later: ReleaseCounts) -> None:
        """Add the counts of rows that come after these."""
        if self.tally is not None and later.tally is not None:
            self.tally.merge(later.tally)
        if self.plan is not None and later.plan is not None:
            self.plan.merge(later.plan)
        if self.units is not None and later.units is not None:
            self.units.merge(later.units)
        self.group = later.group or self.group
        self.no_people |= later.no_people

    def to_bytes(self) -> bytes:
        """JSON, without the plan of the first rows; `from_bytes` reads it."""
        found = {
            "tally": None if self.tally is None else self.tally.to_json(),
            "plan": None if self.plan is None else self.plan.to_json(),
            "units": None if self.units is None else self.units.to_json(),
            "group": self.group,
            "no_people": self.no_people,
        }
        return json.dumps(found).encode()

    @classmethod
    def from_bytes(cls, data: bytes, bundle: Bundle) -> ReleaseCounts:
        """The counts of some rows of a release with this bundle."""
        found, made = json.loads(data), cls.of(bundle, keep_plan=False)
        roles = bundle.roles
        if found["tally"] is not None:
            made.tally = ReleaseTally.from_json(
                found["tally"], suppress=roles.suppress, preserve=roles.preserve
            )
        if found["plan"] is not None:
            made.plan = PlanTally.from_json(roles.suppress, found["plan"])
        if found["units"] is not None:
            made.units = UnitTally.from_json(roles.suppress, found["units"])
        made.group, made.no_people = found["group"], found["no_people"]
        return made
