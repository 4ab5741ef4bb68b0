"""Evidence built by hand, for what is made of figures and not how they came about."""

from __future__ import annotations

from typing import Any

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evidence import Evidence
from withhold.audit.findings import AuditedData, Linked, Tier
from withhold.records.feasibility import Feasibility


def tier(accuracy: float, width: float = 0.02, **more: Any) -> Tier:
    """A figure with an interval of twice `width`; for 99.5 % a third more."""
    values = {"balanced_accuracy": accuracy, "attacker": "mlp", "bits": 0.0} | more
    ci = (max(accuracy - width, 0), min(accuracy + width, 1))
    return Tier(accuracy=accuracy, ci=ci, least=max(accuracy - 1.3 * width, 0), **values)


def bundle(records: int, accuracy: float, width: float = 0.02) -> Linked:
    ci = (max(accuracy - width, 0), min(accuracy + width, 1))
    return Linked(
        records=records, people=10, accuracy=accuracy, ci=ci, least=max(accuracy - 1.3 * width, 0)
    )


def found(
    informed: float | Tier = 0.5, ignorant: float | Tier | None = 0.1, **more: Any
) -> AttributeEvidence:
    """Ten classes, a majority of 10 %, a floor of 20 %, read in 90 % of the originals."""
    values: dict[str, Any] = {
        "role": "suppress",
        "classes": 10,
        "records": 500,
        "majority": 0.1,
        "floor": 0.2,
        "entropy_bits": 3.3,
        "original": tier(0.9),
        "ignorant": tier(ignorant) if isinstance(ignorant, float) else ignorant,
        "informed": tier(informed) if isinstance(informed, float) else informed,
    }
    return AttributeEvidence(**(values | more))


def evidence(release: bool = True, **attributes: AttributeEvidence) -> Evidence:
    source = AuditedData(name="a", records=500, features=4, sha256="0" * 64)
    return Evidence(
        original=source,
        release=source if release else None,
        attributes=attributes,
        feasibility=Feasibility({}, (), {}, {}, {}, ()),
    )
