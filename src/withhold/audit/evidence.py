"""What an audit found: figures per attribute, as JSON and as a table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from withhold.atomic import write_bytes
from withhold.audit.metrics import Score
from withhold.roles import Role


@dataclass(frozen=True)
class AttributeEvidence:
    """One attribute: what is known of it from the original, and from the release.

    `ignorant` is a model fitted on originals and applied to the release (the papers' figure);
    `informed` is one retrained on the release. The second is the one to believe.
    """

    role: Role
    classes: int
    records: int
    majority: float
    floor: float
    original: Score
    ignorant: Score | None
    informed: Score
    attacker: str = "mlp"

    @property
    def worst(self) -> float:
        """The highest accuracy any tier reached."""
        ignorant = self.ignorant.accuracy if self.ignorant else 0.0
        return max(ignorant, self.informed.accuracy)

    @property
    def readable(self) -> bool:
        """Whether some tier is above the floor by more than its interval."""
        tiers = [self.informed, *([self.ignorant] if self.ignorant else [])]
        return any(tier.ci[0] > self.floor for tier in tiers)

    @property
    def blind(self) -> bool:
        """Whether the attacker cannot read the attribute from the original data either."""
        return self.original.ci[0] <= self.majority

    @property
    def nag(self) -> float | None:
        """(acc - majority) / (acc_original - majority), at least 0; None where undefined."""
        room = self.original.accuracy - self.majority
        return None if room <= 0 else max(0.0, (self.informed.accuracy - self.majority) / room)


@dataclass(frozen=True)
class Evidence:
    """The audit of one release."""

    records: int
    attributes: dict[str, AttributeEvidence]
    distortion: float | None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """One sentence on what an attacker gets."""
        leaks = [
            f"{name}: {100 * a.worst:.1f} % (floor {100 * a.floor:.1f} %)"
            for name, a in self.attributes.items()
            if a.role == "suppress" and a.readable
        ]
        if leaks:
            return "suppressed but still readable by an attacker: " + "; ".join(leaks)
        if not any(a.role == "suppress" for a in self.attributes.values()):
            return "nothing was named to be suppressed"
        blind = [n for n, a in self.attributes.items() if a.role == "suppress" and a.blind]
        if blind:
            return (
                f"the attackers tried do not read {', '.join(blind)} from the original data either,"
                " so that they fail on the release shows nothing"
            )
        return "what was suppressed is not distinguishable from the floor by the attackers tried"

    def to_dict(self) -> dict[str, Any]:
        """The contract of `audit.json`."""
        out = {}
        for name, a in self.attributes.items():
            out[name] = {
                "role": a.role,
                "classes": a.classes,
                "records": a.records,
                "majority": a.majority,
                "floor": a.floor,
                "original": asdict(a.original),
                "ignorant": None
                if a.ignorant is None
                else asdict(a.ignorant) | {"attacker": a.attacker},
                "informed": asdict(a.informed) | {"attacker": a.attacker},
                "nag": a.nag,
                "certificate": None,
            }
        return {
            "schema": 1,
            "records": self.records,
            "attributes": out,
            "utility": {"distortion": self.distortion},
            "settings": self.settings,
            "verdict": self.verdict,
        }

    @classmethod
    def from_json(cls, path: str | Path) -> Evidence:
        """The evidence that `to_json` wrote."""
        found = json.loads(Path(path).read_text())
        attributes = {
            name: AttributeEvidence(
                role=a["role"],
                classes=a["classes"],
                records=a["records"],
                majority=a["majority"],
                floor=a["floor"],
                original=_score(a["original"]),
                ignorant=None if a["ignorant"] is None else _score(a["ignorant"]),
                informed=_score(a["informed"]),
                attacker=a["informed"]["attacker"],
            )
            for name, a in found["attributes"].items()
        }
        return cls(found["records"], attributes, found["utility"]["distortion"], found["settings"])

    def to_html(self, path: str | Path, *, title: str = "Audit") -> None:
        """Write `report.html`: one self-contained page, atomically."""
        from withhold.report import write_report

        write_report(self, path, title=title)

    def to_json(self, path: str | Path) -> None:
        """Write `audit.json`, atomically."""
        write_bytes(Path(path), json.dumps(self.to_dict(), indent=2).encode() + b"\n")


def _score(found: dict[str, Any]) -> Score:
    return Score(found["accuracy"], tuple(found["ci"]), found["balanced_accuracy"], found["cmap"])
