"""The evidence on one attribute: what each tier read, and the conclusions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, computed_field

from withhold.audit.checked_certificate import Certified, CertifiedRows
from withhold.audit.findings import (
    AllRows,
    ColumnRead,
    Finding,
    Linked,
    Rung,
    Slice,
    SliceRead,
    Tier,
    Wider,
    WithOriginal,
)
from withhold.audit.intervals import shared, surely_above
from withhold.audit.metrics import Score
from withhold.records.attribute import Kind
from withhold.records.roles import Role

_WIDER = ("all_rows", "columns", "column", "with_original", "subgroup")
Status = Literal["readable", "floor", "blind"]


class AttributeEvidence(Finding):
    """What attackers read of one attribute from the original and from the release.

    `ignorant` is a model fitted on originals and applied to the release (the papers' figure).
    `informed` is the best of a ladder of attackers retrained on the release. `linked` reads
    several records of one person together: their scores added up, or an attacker trained on whole
    people. `linked_row` reads one record among the others of its person, and `linked_number` how
    many records a person has: they are part of the linked tier. `repeated` sees several draws of
    every record. The highest figure counts.
    """

    role: Role
    kind: Kind = "categorical"
    classes: int
    records: int = Field(description="labelled records in the test part")
    majority: float = Field(description="the rate of the commonest class")
    floor: float = Field(description="the best guess from the preserved labels alone")
    entropy_bits: float = Field(description="H(S) of the test part")
    original: Tier = Field(description="the best model of the originals, on the originals")
    ignorant: Tier | None = None
    informed: Tier
    linked: dict[str, Linked] = Field(default_factory=dict, description="by number of records")
    linked_row: Linked | None = Field(
        None,
        description="one record among the others of its person, if the attribute differs in them",
    )
    linked_number: Linked | None = Field(
        None, description="people by how many records they have, alone and beside what these say"
    )
    linked_by: str | None = Field(None, description="the column that names each record's person")
    not_linked: str = Field(
        "", description="why records of one person were not attacked together; empty if they were"
    )
    repeated: Tier | None = None
    draws: int = Field(1, description="number of draws of each record in `repeated`")
    all_rows: AllRows | None = Field(
        None, description="cross-fitted attackers on every released record, train included"
    )
    columns: Tier | None = Field(
        None, description="an attacker on all columns and features of the release together"
    )
    column: ColumnRead | None = Field(
        None, description="the column that reveals most, if one surely reveals the attribute"
    )
    subgroup: SliceRead | None = Field(
        None, description="the slice of released records that attackers read most surely"
    )
    with_original: WithOriginal | None = Field(
        None,
        description="an attacker who can tell whose row is whose, and knows that person's original"
        " features; what counts is the gain over the original alone",
    )
    copied: bool = Field(
        False, description="whether more released records than expected are copies of originals"
    )
    unpaired: bool = Field(
        False,
        description="whether nothing shows that records are compared with their own originals",
    )
    smallest_leak: float | None = Field(
        None,
        description="planted leaks smaller than this (above the floor) were not found in this data",
    )
    ladder: tuple[Rung, ...] = ()
    models: tuple[Rung, ...] = Field((), description="models of the originals, on the originals")
    by_class: tuple[Slice, ...] = ()
    by_group: tuple[Slice, ...] = ()
    worst_group: Slice | None = Field(
        None, description="the group with the highest figure if suppressed, else with the lowest"
    )
    units: str = Field("record", description="what intervals count: records, or a group column")
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def tiers(self) -> dict[str, Score | Linked | Wider]:
        """Every tier that was measured, by name; linked tiers as `linked20`.

        There are many columns and slices, so the best column or slice counts only if it is surely
        above its floor. `with_original` counts only if receivers may tell whose a row is.
        """
        both = self.with_original
        linked = None if both is None or both.linked_by is None else both
        column, subgroup = (
            one if one is not None and one.sure else None for one in (self.column, self.subgroup)
        )
        found: dict[str, Score | Linked | Wider | None] = {
            "ignorant": self.ignorant,
            "informed": self.informed,
            **{f"linked{r}": linked for r, linked in self.linked.items()},
            "linked_row": self.linked_row,
            "linked_number": self.linked_number,
            "repeated": self.repeated,
            "all_rows": self.all_rows,
            "columns": self.columns,
            "column": column,
            "with_original": linked,
            "subgroup": subgroup,
        }
        return {name: tier for name, tier in found.items() if tier is not None}

    def floor_of(self, tier: str) -> float:
        """The floor of a tier. Preserved labels of several linked records may raise it."""
        found = self.with_original if tier == "with_original" else self.tiers.get(tier)
        if isinstance(found, Wider):  # on other records, or by someone who knows more
            return found.floor
        return max(self.floor, found.floor) if isinstance(found, Linked) else self.floor

    @property
    def worst_tier(self) -> str:
        """The tier that reads most above its floor.

        The wider tiers use quicker attackers on other records. Such a tier counts only if it is
        surely above its floor and either surely reads more than the informed attacker, or no plain
        tier is above its floor. A slice counts only if no other tier is above its floor.
        """
        plain = any(self.sure[n] for n in self.tiers if n not in _WIDER)
        broad = plain or any(self.sure[n] for n in _WIDER[:-1] if n in self.tiers)
        able = [n for n in self.tiers if n not in _WIDER]
        for name in (n for n in _WIDER if n in self.tiers):
            more = self.tiers[name].ci[0] > self.informed.accuracy
            only = not (broad if name == "subgroup" else plain)
            if self.sure[name] and (only or (more and name != "subgroup")):
                able.append(name)
        return max(able, key=lambda n: self.tiers[n].accuracy - self.floor_of(n))

    @property
    def worst(self) -> float:
        """The accuracy of the tier that reads most above its floor."""
        return self.tiers[self.worst_tier].accuracy

    @property
    def readable(self) -> bool:
        """Whether some tier is surely above its floor, or records were released unchanged.

        Each tier is tested at 99.5 %, so ten tiers together raise a false alarm in at most 5 of 100
        audits of an attribute.
        """
        return (self.copied and self.original.least > self.floor) or any(self.sure.values())

    @property
    def sure(self) -> dict[str, bool]:
        """Which tiers are surely above their floors."""
        return {name: tier.least > self.floor_of(name) for name, tier in self.tiers.items()}

    @property
    def blind(self) -> bool:
        """Whether the attacker cannot read the attribute from the original data either."""
        return self.original.least <= self.majority

    @computed_field  # type: ignore[prop-decorator]
    @property
    def status(self) -> Status:
        """readable: above the floor. floor: not distinguishable from it. blind: nothing is shown,
        since the original is not read either, or records may be compared with strangers."""
        if self.readable:
            return "readable"
        return "blind" if self.blind or self.unpaired else "floor"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def nag(self) -> float | None:
        """(acc - majority) / (acc_original - majority), at least 0; null if undefined."""
        room = self.original.accuracy - self.majority
        return None if room <= 0 else max(0.0, (self.informed.accuracy - self.majority) / room)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def leakage_bits(self) -> float:
        """H(S) less the best held-out cross-entropy, in bits, at least 0: usable information."""
        return max([tier.bits for tier in self.tiers.values() if isinstance(tier, Tier)], default=0)

    certificate: Certified | CertifiedRows | None = Field(
        None,
        description="a bound on every attacker, if there is one",
        union_mode="left_to_right",
    )

    @property
    def best(self) -> Tier:
        """The best attack on single records that were released once: what a certificate bounds."""
        tiers = [t for t in (self.informed, self.ignorant) if t is not None]
        return max(tiers, key=lambda tier: tier.accuracy)

    @property
    def only_eliminated(self) -> bool:
        """Whether only an attacker who knows all other labels surely reads it."""
        able = [tier for tier, sure in self.sure.items() if sure]
        all_rows = self.all_rows
        return able == ["all_rows"] and all_rows is not None and all_rows.eliminates

    @property
    def destroyed(self) -> bool:
        """Whether an attribute that should stay readable is no longer read better than guessing."""
        if self.role == "suppress" or self.blind or self.nag is None:
            return False
        return self.informed.least <= self.majority and self.nag < 0.1

    def beyond_codes(self, bound: float) -> str | None:
        """The tier that, with other columns, surely reads more than a bound on the codes.

        Elimination does not count: it uses all other labels, not columns. Nor do slices: the bound
        is on the mean over all records.
        """
        for name in ("column", "columns", "all_rows"):
            tier = self.tiers.get(name)
            eliminates = isinstance(tier, AllRows) and tier.eliminates
            if tier is not None and not eliminates and tier.least > bound:
                return name
        return None

    @property
    def contradicted(self) -> bool:
        """Whether an attack surely reads more than the certificate allows."""
        return self.certificate is not None and self.exceeds(self.certificate.at_most)

    def exceeds(self, bound: float) -> bool:
        """Whether the best attack on single records surely reads more than a certified bound.

        The figure of a plan has no margin: it is often the floor. So it is compared at the
        confidence of `readable`, which the two tiers share: otherwise one honest certificate in 40
        would be contradicted. It is about all rows; the test part may have more records of the
        commonest class, which no attack on the release is needed to name. So the floor of the test
        part counts if it is higher.
        """
        if self.certificate is None or self.certificate.plan is None:
            return self.best.ci[0] > bound
        tiers = [t for t in (self.informed, self.ignorant) if t is not None]
        level, bound = shared(len(tiers)), max(bound, self.floor)
        return any(surely_above(t.accuracy, t.least, bound, level=level) for t in tiers)
