"""What an audit found: figures per attribute, as JSON and as a page. The contract of `audit.json`.

Accuracies are fractions in 0..1; intervals hold the truth in 95 of 100 audits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, computed_field

from withhold.atomic import write_bytes
from withhold.attribute import Kind
from withhold.audit.certified import Certified, CertifiedRelease
from withhold.audit.findings import Distortion, Finding, Linked, Map, Rung, Slice, Source, Tier
from withhold.audit.gate import GateResult
from withhold.audit.metrics import Score
from withhold.certificate.words import at_most
from withhold.feasibility import Feasibility
from withhold.roles import Role

Status = Literal["readable", "floor", "blind"]


class AttributeEvidence(Finding):
    """One attribute: what is known of it from the original, and from the release.

    `ignorant` is a model fitted on originals and applied to the release (the papers' figure);
    `informed` is the best of a ladder of attackers retrained on the release; `linked` adds up what
    it says of several records of one person; `repeated` has several draws of every record. The
    highest of them is the one to believe.
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
    linked_by: str | None = Field(None, description="the column that says which records belong")
    repeated: Tier | None = None
    draws: int = Field(1, description="draws of each record that `repeated` has")
    ladder: tuple[Rung, ...] = ()
    models: tuple[Rung, ...] = Field((), description="models of the originals, on the originals")
    by_class: tuple[Slice, ...] = ()
    by_group: tuple[Slice, ...] = ()
    worst_group: Slice | None = Field(
        None, description="where a suppressed attribute is read best, any other one worst"
    )
    units: str = Field("record", description="what intervals count: records, or a group column")
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def tiers(self) -> dict[str, Score | Linked]:
        """Every tier that was measured, by name; linked ones as `linked20`."""
        found: dict[str, Score | Linked | None] = {
            "ignorant": self.ignorant,
            "informed": self.informed,
            **{f"linked{r}": linked for r, linked in self.linked.items()},
            "repeated": self.repeated,
        }
        return {name: tier for name, tier in found.items() if tier is not None}

    def floor_of(self, tier: str) -> float:
        """The floor of a tier: of several records together the preserved labels tell more."""
        found = self.tiers.get(tier)
        return max(self.floor, found.floor) if isinstance(found, Linked) else self.floor

    @property
    def worst_tier(self) -> str:
        """The tier that reads most above its floor."""
        return max(self.tiers, key=lambda n: self.tiers[n].accuracy - self.floor_of(n))

    @property
    def worst(self) -> float:
        """The accuracy of the tier that reads most above its floor."""
        return self.tiers[self.worst_tier].accuracy

    @property
    def readable(self) -> bool:
        """Whether some tier is surely above the floor.

        At 99.5 % each, six tiers together raise a false alarm in at most 3 of 100 audits of an
        attribute.
        """
        return any(tier.least > self.floor_of(name) for name, tier in self.tiers.items())

    @property
    def blind(self) -> bool:
        """Whether the attacker cannot read the attribute from the original data either."""
        return self.original.least <= self.majority

    @computed_field  # type: ignore[prop-decorator]
    @property
    def status(self) -> Status:
        """readable: above the floor; floor: not distinguishable from it; blind: nothing shown."""
        if self.readable:
            return "readable"
        return "blind" if self.blind else "floor"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def nag(self) -> float | None:
        """(acc - majority) / (acc_original - majority), at least 0; null where undefined."""
        room = self.original.accuracy - self.majority
        return None if room <= 0 else max(0.0, (self.informed.accuracy - self.majority) / room)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def leakage_bits(self) -> float:
        """H(S) less the best held-out cross-entropy, in bits, at least 0: usable information."""
        return max([tier.bits for tier in self.tiers.values() if isinstance(tier, Tier)], default=0)

    certificate: Certified | None = Field(
        None, description="a bound on every attacker, where there is one"
    )

    @property
    def best(self) -> Tier:
        """The best attack on one record at a time, released once: what a certificate bounds."""
        tiers = [t for t in (self.informed, self.ignorant) if t is not None]
        return max(tiers, key=lambda tier: tier.accuracy)

    @property
    def contradicted(self) -> bool:
        """Whether an attack surely reads more than the certificate says that any can."""
        return self.certificate is not None and self.best.ci[0] > self.certificate.bound


class Utility(Finding):
    """What is left to use."""

    distortion: float | None = Field(description="mean distance that a record moved")
    mnag: float | None = Field(description="mean NAG of the others less that of the suppressed")


class Evidence(Finding):
    """The audit of one release, or of an original alone."""

    version: str = Field("", description="of withhold")
    made: str = Field("", description="when, in UTC")
    original: Source
    release: Source | None
    attributes: dict[str, AttributeEvidence]
    feasibility: Feasibility
    distortion: Distortion | None = None
    map: Map | None = None
    gate: GateResult | None = None
    certificate: CertifiedRelease | None = Field(
        None, description="where the bounds come from, and what they assume"
    )
    settings: dict[str, Any] = Field(default_factory=dict)
    seconds: dict[str, float] = Field(default_factory=dict, description="what each part took")
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
        """The attributes that should not be readable."""
        return {n: a for n, a in self.attributes.items() if a.role == "suppress"}

    @property
    def mnag(self) -> float | None:
        """Mean NAG over preserved and hidden less mean NAG over suppressed; None if undefined."""
        gains = {n: a.nag for n, a in self.attributes.items()}
        leaks = [g for n, g in gains.items() if n in self.suppressed and g is not None]
        useful = [g for n, g in gains.items() if n not in self.suppressed and g is not None]
        if not leaks or not useful:
            return None
        return sum(useful) / len(useful) - sum(leaks) / len(leaks)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def utility(self) -> Utility:
        """What is left to use."""
        return Utility(
            distortion=None if self.distortion is None else self.distortion.mean, mnag=self.mnag
        )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def verdict(self) -> str:
        """One sentence on what an attacker gets, and on what none can."""
        return "; ".join([self._verdict, *self._certified])

    @property
    def _certified(self) -> list[str]:
        """What the certificate adds to the verdict."""
        broken = [
            f"CONTRADICTION: an attack reads {name} of {100 * a.best.accuracy:.1f} % of single"
            f" records, certified was {at_most(a.certificate.bound)} % at most: do not rely on the"
            " certificate"
            for name, a in self.attributes.items()
            if a.certificate is not None and a.contradicted
        ]
        proved = {
            name: a.certificate
            for name, a in self.attributes.items()
            if a.certificate is not None and not a.contradicted and a.certificate.bound < 1
        }
        if not proved:
            return broken
        bounds = ", ".join(f"{n} of more than {at_most(c.bound)} %" for n, c in proved.items())
        one = next(iter(proved.values()))
        doubt = "" if one.checked else ", not checked against the release"
        return [
            *broken,
            f"certified: no attacker reads {bounds} of single records"
            f" (confidence {100 * one.confidence:g} %{doubt})",
        ]

    @property
    def _verdict(self) -> str:
        if not self.suppressed and self.release is not None:
            return "nothing was named to be suppressed"
        leaks = [
            f"{name}: {100 * a.worst:.1f} % (floor {100 * a.floor:.1f} %)"
            for name, a in (self.suppressed or self.attributes).items()
            if a.readable
        ]
        if leaks and self.release is None:
            return "the data gives away to an attacker: " + "; ".join(leaks)
        if leaks:
            return "suppressed but still readable by an attacker: " + "; ".join(leaks)
        blind = [n for n, a in (self.suppressed or self.attributes).items() if a.blind]
        if blind and self.release is None:
            return f"the attackers tried do not read {', '.join(blind)} from the data"
        if blind:
            return (
                f"the attackers tried do not read {', '.join(blind)} from the original data either,"
                " so that they fail on the release shows nothing"
            )
        return "what was suppressed is not distinguishable from the floor by the attackers tried"

    def to_dict(self) -> dict[str, Any]:
        """The contract of `audit.json`."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_json(cls, path: str | Path) -> Evidence:
        """The evidence that `to_json` wrote."""
        return cls.model_validate_json(Path(path).read_bytes())

    def to_html(self, path: str | Path, *, title: str = "Audit") -> None:
        """Write `report.html`: one self-contained page, atomically."""
        from withhold.report import write_report

        write_report(self, path, title=title)

    def to_json(self, path: str | Path) -> None:
        """Write `audit.json`, atomically."""
        write_bytes(Path(path), self.json_bytes())

    def json_bytes(self) -> bytes:
        """`audit.json` as bytes."""
        return self.model_dump_json(by_alias=True, indent=2).encode() + b"\n"


def schema() -> dict[str, Any]:
    """The JSON schema of `audit.json`, as published in docs."""
    return Evidence.model_json_schema(mode="serialization", by_alias=True)
