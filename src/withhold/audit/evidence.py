"""What an audit found, attribute by attribute. This is the contract of `audit.json`.

Accuracies are fractions in 0..1; intervals contain the truth in 95 of 100 audits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, computed_field

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.certified_verdict import certified_verdict, contradictions
from withhold.audit.checked_certificate import CertifiedRelease
from withhold.audit.findings import (
    METADATA,
    AuditedData,
    Column,
    Copies,
    Distortion,
    Finding,
    Map,
)
from withhold.audit.gate import GateResult
from withhold.core.atomic import write_bytes
from withhold.core.errors import listing
from withhold.records.feasibility import Feasibility


class Utility(Finding):
    """How useful the release still is."""

    distortion: float | None = Field(description="mean distance that a record moved")
    mnag: float | None = Field(description="mean NAG of the others minus that of the suppressed")


class Evidence(Finding):
    """The audit of one release, or of an original alone."""

    version: str = Field("", description="version of withhold")
    made: str = Field("", description="time of the audit, in UTC")
    original: AuditedData
    release: AuditedData | None
    attributes: dict[str, AttributeEvidence]
    feasibility: Feasibility
    distortion: Distortion | None = None
    map: Map | None = None
    gate: GateResult | None = None
    certificate: CertifiedRelease | None = Field(
        None, description="the source of the bounds, and their assumptions"
    )
    settings: dict[str, Any] = Field(default_factory=dict)
    seconds: dict[str, float] = Field(default_factory=dict, description="duration of each part")
    columns: tuple[Column, ...] = Field(
        (), description="every column of the release: whether it was attacked, and what it reveals"
    )
    copies: dict[str, Copies] = Field(
        default_factory=dict, description="records that are (nearly) their originals, by part"
    )
    notes: tuple[str, ...] = ()

    @computed_field(alias="schema")  # type: ignore[prop-decorator]
    @property
    def schema_(self) -> Literal[1]:
        """The version of this format."""
        return 1

    @computed_field  # type: ignore[prop-decorator]
    @property
    def records(self) -> int:
        """Records of the original."""
        return self.original.records

    @property
    def suppressed(self) -> dict[str, AttributeEvidence]:
        """The attributes that must not be readable."""
        return {n: a for n, a in self.attributes.items() if a.role == "suppress"}

    @property
    def mnag(self) -> float | None:
        """Mean NAG of preserved and unnamed minus mean NAG of suppressed; None if undefined."""
        gains = {n: a.nag for n, a in self.attributes.items()}
        leaks = [g for n, g in gains.items() if n in self.suppressed and g is not None]
        useful = [g for n, g in gains.items() if n not in self.suppressed and g is not None]
        if not leaks or not useful:
            return None
        return sum(useful) / len(useful) - sum(leaks) / len(leaks)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def utility(self) -> Utility:
        """How useful the release still is."""
        return Utility(
            distortion=None if self.distortion is None else self.distortion.mean, mnag=self.mnag
        )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def verdict(self) -> str:
        """One sentence on what attackers read, and on what is proved."""
        return "; ".join(self.verdicts)

    @property
    def verdicts(self) -> list[str]:
        """The parts of the verdict, most serious first."""
        return [*self.always, self._verdict, *self.unlinked, *self.lost, *self._certified]

    @property
    def alarming(self) -> bool:
        """Whether a release reveals what it should hide, or rows of it are originals.

        So does an attack that surely reads more than a certificate allows.
        """
        leaks = any(a.readable or a.contradicted for a in self.suppressed.values())
        return self.release is not None and (leaks or bool(self.always))

    @property
    def failing(self) -> list[str]:
        """Findings that fail every gate, in words: also a contradicted certificate."""
        return [*self.always, *contradictions(self.attributes)]

    @property
    def always(self) -> list[str]:
        """Findings about the release itself that fail every gate, in words."""
        return [*self.left, *self.untouched, *self.unread]

    @property
    def left(self) -> list[str]:
        """Suppressed attributes that the release still contains as columns, in words."""
        said = []
        for column in self.columns:
            for name in (n for n, read in column.tells.items() if read.copy_of):
                if column.name == name:
                    said.append(f"The release still contains the column '{name}' itself")
                else:
                    said.append(
                        f"The release still contains '{name}': the column '{column.name}' is a"
                        " copy of it"
                    )
        return said

    @property
    def untouched(self) -> list[str]:
        """Records that were released unchanged, in words."""
        return [
            f"{one.copies:,} of {one.records:,} {part} records are released (nearly) unchanged"
            for part, one in self.copies.items()
            if one.found
        ]

    @property
    def unread(self) -> list[str]:
        """Metadata in the file of the release, in words."""
        found = [c.name.strip("()").split(": ", 1)[-1] for c in self.columns if c.kind == METADATA]
        if not found:
            return []
        return [f"the file carries metadata, which was not attacked: remove it ({listing(found)})"]

    @property
    def unlinked(self) -> list[str]:
        """Attributes of which records of one person were not attacked together, with the reason.

        A column names people, so whoever knows it can link records.
        """
        return [
            f"{name} may be readable for whoever knows which records are of one person: not"
            f" attacked, since {a.not_linked}"
            for name, a in self.suppressed.items()
            if a.not_linked and a.units != "record" and not a.readable
        ]

    @property
    def lost(self) -> list[str]:
        """Attributes that were destroyed although they should stay readable, in words."""
        return [
            f"WARNING: {name} ({'preserved' if a.role == 'preserve' else 'unnamed'}) was destroyed:"
            f" read in {100 * a.original.accuracy:.1f} % of the originals and in"
            f" {100 * a.informed.accuracy:.1f} % of the release, where guessing gets"
            f" {100 * a.majority:.1f} %"
            for name, a in self.attributes.items()
            if self.release is not None and a.destroyed
        ]

    @property
    def _certified(self) -> list[str]:
        """What the certificate adds to the verdict."""
        return certified_verdict(self.attributes, self.certificate)

    @property
    def _verdict(self) -> str:
        if not self.suppressed and self.release is not None:
            return "no attribute to suppress was named"
        leaks = [
            f"{name}: {100 * a.worst:.1f} % (floor {100 * a.floor_of(a.worst_tier):.1f} %"
            f"{_where(a)})"
            for name, a in (self.suppressed or self.attributes).items()
            if a.readable
        ]
        if leaks and self.release is None:
            return "an attacker can read from the data: " + "; ".join(leaks)
        if leaks:
            return "suppressed but still readable by an attacker: " + "; ".join(leaks)
        blind = [n for n, a in (self.suppressed or self.attributes).items() if a.blind]
        if blind and self.release is None:
            return f"the attackers tried do not read {', '.join(blind)} from the data"
        if blind:
            return (
                f"the attackers tried do not read {', '.join(blind)} from the original data either,"
                " so their failure on the release shows nothing"
            )
        if any(a.unpaired for a in self.attributes.values()):
            return (
                "nothing shows that records of the release are compared with their own originals,"
                " so the failure of the attackers shows nothing"
            )
        return (
            "the suppressed attributes are not distinguishable from the floor by the attackers"
            " tried"
        )

    def to_dict(self) -> dict[str, Any]:
        """The contract of `audit.json`."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_json(cls, path: str | Path) -> Evidence:
        """The evidence that `to_json` wrote."""
        return cls.model_validate_json(Path(path).read_bytes())

    def to_json(self, path: str | Path) -> None:
        """Write `audit.json`, atomically."""
        write_bytes(Path(path), self.json_bytes())

    def json_bytes(self) -> bytes:
        """`audit.json` as bytes."""
        return self.model_dump_json(by_alias=True, indent=2).encode() + b"\n"


def _where(a: AttributeEvidence) -> str:
    """Name the tier if it is not a plain one: a column, a slice, or records outside test."""
    if a.worst_tier == "column" and a.column is not None:
        return f"; column '{a.column.column}'"
    if a.worst_tier == "linked_row":
        return f"; one record among the others of its {a.linked_by}"
    if a.worst_tier == "linked_number":
        return f"; from how many records each {a.linked_by} has"
    if a.worst_tier == "columns":
        return "; all columns together"
    if a.worst_tier == "with_original" and a.with_original is not None:
        return (
            f"; for someone who can tell whose row is whose ({a.with_original.linked_by}) and knows"
            " that person's other columns; the floor is what those columns tell alone"
        )
    if a.worst_tier == "subgroup" and a.subgroup is not None:
        return f"; {a.subgroup.value}"
    if a.worst_tier == "all_rows" and a.all_rows is not None:
        part = "all released records" if a.all_rows.part == "all" else f"{a.all_rows.part} records"
        who = ", for an attacker who knows all other labels" if a.all_rows.eliminates else ""
        return f"; {part}{who}"
    return ""


def schema() -> dict[str, Any]:
    """The JSON schema of `audit.json`, as published in docs."""
    return Evidence.model_json_schema(mode="serialization", by_alias=True)
