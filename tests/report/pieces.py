"""Pieces of evidence built by hand; whole audits are in samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified, CertifiedRelease
from withhold.audit.evidence import Evidence
from withhold.audit.findings import (
    AllRows,
    AuditedData,
    Column,
    ColumnRead,
    Copies,
    Distortion,
    Linked,
    Map,
    Rung,
    Slice,
    SliceRead,
    Tier,
    Wider,
    WithOriginal,
)
from withhold.audit.intervals import Z_995, wilson
from withhold.audit.metrics import Interval
from withhold.certificate.claim_wording import ASSUMPTIONS
from withhold.certificate.claims import (
    Behind,
    CertifiedData,
    Lift,
    LinkedClaim,
    NoGroupClaim,
    PlanClaim,
    ReleaseClaim,
)
from withhold.records.feasibility import AttributePair, Feasibility
from withhold.records.roles import Role


def tier(accuracy: float, *, n: int = 6000, attacker: str = "mlp", **figures: Any) -> Tier:
    """A tier with the intervals that n records give, and `figures` where they are not the usual."""
    values = {"balanced_accuracy": accuracy, "f1": max(accuracy - 0.004, 0.0), **figures}
    intervals: dict[str, Interval] = {
        name: wilson(value * n, n)
        for name, value in values.items()
        if isinstance(value, float) and name != "bits"
    }
    if "bits" in values:
        intervals["bits"] = (max(values["bits"] - 0.04, 0.0), values["bits"] + 0.04)
    return Tier(
        accuracy=accuracy,
        ci=wilson(accuracy * n, n),
        least=wilson(accuracy * n, n, z=Z_995)[0],
        attacker=attacker,
        intervals=intervals,
        **values,
    )


def linked(accuracies: Mapping[int, float], *, people: int = 60) -> dict[str, Linked]:
    return {
        str(r): Linked(
            records=r,
            people=people,
            accuracy=value,
            ci=wilson(value * people, people),
            least=wilson(value * people, people, z=Z_995)[0],
        )
        for r, value in accuracies.items()
    }


def found(
    role: Role,
    *,
    informed: float,
    original: float = 0.99,
    ignorant: float | None = 0.1,
    classes: int = 10,
    floor: float | None = None,
    n: int = 6000,
    **others: Any,
) -> AttributeEvidence:
    """One attribute, with every figure that is not asked for left at something plain."""
    majority = 1 / classes
    defaults: dict[str, Any] = {
        "role": role,
        "classes": classes,
        "records": n,
        "majority": majority,
        "floor": majority if floor is None else floor,
        "entropy_bits": math.log2(classes),
        "original": tier(original, n=n, bits=math.log2(classes) * original),
        "ignorant": None if ignorant is None else tier(ignorant, n=n),
        "informed": tier(informed, n=n, bits=math.log2(classes) * max(informed - majority, 0)),
    }
    return AttributeEvidence(**defaults | others)


def with_original(
    alone: float, gain: float, *, linked_by: str | None, n: int = 600, half: float = 0.04
) -> WithOriginal:
    """A gain that is known to 4 points, by default."""
    both = alone + gain
    return WithOriginal(
        records=n,
        accuracy=both,
        ci=wilson(both * n, n),
        least=both - half,
        floor=alone,
        attacker="trees",
        alone=alone,
        alone_attacker="logistic",
        gain=gain,
        gain_ci=(gain - 0.03, gain + 0.03),
        linked_by=linked_by,
    )


def certified(bound: float = 0.031, **others: Any) -> Certified:
    """A bound on every attacker, from 6,000 records."""
    values: dict[str, Any] = {
        "classes": 60,
        "records": 6000,
        "missing": 0,
        "majority": 0.0167,
        "floor": 0.0167,
        "plug_in": max(bound - 0.004, 0.0),
        "slack": 0.004,
        "bound": bound,
        "by": "Chernoff",
        "confidence": 0.95,
        "groups": NoGroupClaim(reason="no group was named; --group says whose records they are"),
        "linked": {
            "5": LinkedClaim(plug_in=0.08, bound=0.31),
            "20": LinkedClaim(plug_in=0.2, bound=0.98),
            "50": LinkedClaim(plug_in=0.4, bound=1.0),
        },
        "worst_lift": Lift(code=3, of="41", lift=2.13, share=0.012),
        "smallest_behind_code": Behind(code=7, number=38, of="records"),
        "codes_used": 250,
        "checked": True,
    }
    return Certified(**values | others)


def given(one: float = 0.021, **others: Any) -> ReleaseClaim:
    """What is proved of the rows of a release, exactly."""
    values: dict[str, Any] = {
        "records": 30000,
        "classes": 60,
        "codes_used": 250,
        "floor": 0.0167,
        "one": one,
        "linked": {"5": 0.034, "20": 0.081, "50": 0.204},
        "known": {"0.1": 0.022, "0.5": 0.024, "0.9": 0.041, "all-but-one": 1.0},
        "measured": {"0.1": 0.018, "0.5": 0.018, "0.9": 0.019, "all-but-one": 0.0183},
    }
    return ReleaseClaim(**values | others)


def planned(one: float = 0.0167, **others: Any) -> ReleaseClaim:
    """The same of an exact release: its plan tells no more than guessing."""
    linked = {"5": max(one, 0.0168), "20": max(one, 0.0171), "50": max(one, 0.0179)}
    return given(**{"plan": PlanClaim(one=one, linked=linked, unequal=2e-9)} | others)


def wide(
    accuracy: float, floor: float, *, n: int = 6000, attacker: str = "trees"
) -> dict[str, Any]:
    """The fields of a wider look."""
    return {
        "records": n,
        "accuracy": accuracy,
        "ci": wilson(accuracy * n, n),
        "least": wilson(accuracy * n, n, z=Z_995)[0],
        "floor": floor,
        "attacker": attacker,
    }


def all_rows(accuracies: Mapping[str, float], floor: float) -> AllRows:
    """Every part of the release, and an elimination attacker that reads as much."""
    parts = {part: Wider(**wide(value, floor)) for part, value in accuracies.items()}
    worst = max(accuracies, key=accuracies.__getitem__)
    return AllRows(
        **parts[worst].model_dump(), part=worst, parts=parts, elimination={"all": parts["all"]}
    )


def subgroup(accuracy: float, floor: float) -> SliceRead:
    return SliceRead(
        **wide(accuracy, floor, n=60), by="corners", value="records with f_3 above 2.1", share=0.01
    )


def column(name: str, kind: str = "category", **tells: Any) -> Column:
    """A column that was attacked; `tells` by attribute: an accuracy, or `copy`."""
    read = {}
    for attribute, value in tells.items():
        accuracy = 1.0 if value == "copy" else value
        read[attribute] = ColumnRead(
            **wide(accuracy, 0.5), column=name, copy_of=value == "copy", tells=accuracy > 0.6
        )
    return Column(name=name, kind=kind, attacked=True, tells=read)


def skipped(name: str, why: str) -> Column:
    return Column(name=name, kind="number", attacked=False, why_not=why)


def copies(count: int, n: int = 4000) -> Copies:
    return Copies(
        records=n,
        copies=count,
        share=count / n,
        expected=0.0,
        reidentified=max(count / n, 0.001),
        found=count > 20,
    )


def source(**others: Any) -> CertifiedRelease:
    """Where the bounds of `certified` come from."""
    values: dict[str, Any] = {
        "version": "0.1.0",
        "method": "codebook",
        "codes": 256,
        "codebook_sha256": "c0de" * 16,
        "fit_sha256": "9f2c" * 16,
        "data": CertifiedData(name="voices.parquet", records=6000, part="test", sha256="9f2c" * 16),
        "checked": True,
        "others": {},
        "assumptions": ASSUMPTIONS,
    }
    return CertifiedRelease(**values | others)


def ladder(
    accuracies: Sequence[float], *, n: int = 6000, skipped: Mapping[str, str] | None = None
) -> tuple[Rung, ...]:
    """Rungs of one audit; the last ones of the names may be skipped."""
    names = (
        "prior",
        "logistic",
        "nearest",
        "kernel",
        "trees",
        "mlp, 64",
        "mlp, 512",
        "mlp",
        "mlp, from the raw model",
        "mlp, 5 seeds",
    )
    rungs = [
        Rung(
            attacker=name,
            val_accuracy=min(value + 0.002, 1.0),
            val_bits=5.9 * value,
            accuracy=value,
            ci=wilson(value * n, n),
            seconds=0.3 + 7.3 * place,
        )
        for place, (name, value) in enumerate(zip(names, accuracies, strict=False))
    ]
    return (*rungs, *(Rung(attacker=a, skipped=why) for a, why in (skipped or {}).items()))


def slices(by: str, values: Mapping[str, float], *, n: int = 500) -> tuple[Slice, ...]:
    return tuple(
        Slice(by=by, value=value, records=n, accuracy=share, ci=wilson(share * n, n))
        for value, share in values.items()
    )


def possible(attributes: Mapping[str, AttributeEvidence], **others: Any) -> Feasibility:
    """Shared bits that look like something: the smaller attribute is told in part by the larger."""
    names = list(attributes)
    entropy = {n: a.entropy_bits for n, a in attributes.items()}
    pairs = tuple(
        AttributePair(a, b, min(entropy[a], entropy[b]) * (1.0 if i == 0 and j > 1 else 0.02), 0.1)
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i < j
    )
    values: dict[str, Any] = {
        "entropy": entropy,
        "pairs": pairs,
        "majority": {n: a.majority for n, a in attributes.items()},
        "floor": {n: a.floor for n, a in attributes.items() if a.role == "suppress"},
        "ceiling": {n: 1.0 for n, a in attributes.items() if a.role == "preserve"},
        "warnings": (),
    }
    return Feasibility(**values | others)


def evidence(attributes: dict[str, AttributeEvidence], **others: Any) -> Evidence:
    values: dict[str, Any] = {
        "version": "0.1.0",
        "original": AuditedData(
            name="voices.parquet", records=30000, features=512, sha256="9f2c" * 16
        ),
        "release": AuditedData(
            name="release.parquet", records=30000, features=512, sha256="41ab" * 16
        ),
        "attributes": attributes,
        "feasibility": possible(attributes),
        "settings": {"seed": 0, "train": 21000, "val": 3000, "test": 6000},
    }
    return Evidence(**values | others)


def clusters(names: Mapping[str, int], *, points: int = 500, mixed: bool = False) -> Map:
    """Points in one cluster a class of the first attribute; mixed: the release is one cloud."""
    rng = np.random.default_rng(0)
    first = next(iter(names.values()))
    labels = {n: rng.integers(0, k, points) for n, k in names.items()}
    labels[next(iter(names))] = np.sort(labels[next(iter(names))])
    centres = rng.normal(0, 30, (first, 2))
    own = centres[labels[next(iter(names))]] + rng.normal(0, 2.2, (points, 2))
    other = rng.normal(0, 20, (points, 2)) if mixed else own[:, ::-1] + rng.normal(0, 3, own.shape)
    return Map(
        original=tuple((float(x), float(y)) for x, y in own),
        release=tuple((float(x), float(y)) for x, y in other),
        labels={n: tuple(int(v) for v in found) for n, found in labels.items()},
        classes={n: tuple(f"{n} {i}" for i in range(k)) for n, k in names.items()},
    )


def moved() -> Distortion:
    counts = (3, 18, 71, 240, 610, 1120, 1380, 1190, 760, 370, 160, 58, 16, 4)
    return Distortion(
        mean=4.27,
        relative=0.31,
        edges=tuple(float(e) for e in np.linspace(1, 8, len(counts) + 1)),
        counts=counts,
    )
