"""The counts that a certificate is made from. Counts of parts of a release add up to those of all.

So any process can count the rows that it modified: a pass over all records is a map and a sum.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.certificate.given_release import ReleaseTally, preserved_names
from withhold.certificate.plan_tally import PlanTally
from withhold.methods import Channel
from withhold.release.modify import Modified
from withhold.release.sample_labels import labels_of


@dataclass
class ReleaseCounts:
    """tally: of the codes of the rows that leave, if the method has any; held: of those that are
    held back; plan: of what all rows drew from, if each drew by itself; group: the column that
    names the person of each row; no_people: whether it is absent."""

    tally: ReleaseTally | None = None
    held: ReleaseTally | None = None
    plan: PlanTally | None = None
    group: str | None = None
    no_people: bool = False

    @classmethod
    def of(cls, bundle: Bundle, *, keep_plan: bool = True) -> ReleaseCounts:
        """Of no rows yet. keep_plan: whether the plan of the first rows is kept; see `PlanTally`"""
        if not isinstance(bundle.modifier, Channel):
            return cls()
        roles = bundle.roles
        by_row = bundle.modifier.draws_by_row
        leave, held = (
            ReleaseTally(suppress=roles.suppress, preserve=roles.preserve) for _ in range(2)
        )
        return cls(leave, held, PlanTally(roles.suppress, keep=keep_plan) if by_row else None)

    def add(
        self,
        bundle: Bundle,
        made: Modified,
        table: pa.Table,
        multilabel: Mapping[str, Sequence[str]],
        name: str,
        *,
        leaves: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Count rows: their codes, and the source columns with their labels.

        leaves: (n,), which of them leave, if some are held back.
        """
        drawn = made.codes
        if self.tally is None or drawn is None:
            return
        assert self.held is not None
        roles = bundle.roles
        labels = labels_of(roles.named, table, multilabel, name)
        group = bundle.input.get("group")
        people = None
        if group is not None and group in table.column_names:
            people = [str(v) for v in table[group].to_pylist()]
            self.group = group
        elif group is not None:
            self.no_people = True
        if leaves is None:
            leaves = np.ones(len(drawn), bool)
        for tally, mask in ((self.tally, leaves), (self.held, ~leaves)):
            at = np.flatnonzero(mask)
            if len(at):
                tally.add(
                    drawn[at],
                    {n: a.rows(at) for n, a in labels.items()},
                    None if people is None else [people[i] for i in at],
                )
        if self.plan is not None and made.plan is not None:
            given = [labels[n] for n in roles.preserve if n in labels]
            self.plan.add(made.plan, labels, preserved_names(given, len(drawn)), leaves=leaves)

    def merge(self, later: ReleaseCounts) -> None:
        """Add the counts of rows that come after these."""
        for ours, theirs in ((self.tally, later.tally), (self.held, later.held)):
            if ours is not None and theirs is not None:
                ours.merge(theirs)
        if self.plan is not None and later.plan is not None:
            self.plan.merge(later.plan)
        self.group = later.group or self.group
        self.no_people |= later.no_people

    def to_bytes(self) -> bytes:
        """JSON, without the plan of the first rows; `from_bytes` reads it."""
        found = {
            "tally": None if self.tally is None else self.tally.to_json(),
            "held": None if self.held is None else self.held.to_json(),
            "plan": None if self.plan is None else self.plan.to_json(),
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
            made.tally, made.held = (
                ReleaseTally.from_json(
                    found[which], suppress=roles.suppress, preserve=roles.preserve
                )
                for which in ("tally", "held")
            )
        if found["plan"] is not None:
            made.plan = PlanTally.from_json(roles.suppress, found["plan"])
        made.group, made.no_people = found["group"], found["no_people"]
        return made
