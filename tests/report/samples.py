"""Whole audits built by hand: of voices, one where nothing is read, and odd ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from report.pieces import (
    all_rows,
    certified,
    clusters,
    column,
    copies,
    evidence,
    found,
    given,
    ladder,
    linked,
    moved,
    planned,
    possible,
    skipped,
    slices,
    source,
    subgroup,
    tier,
)
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import CertifiedRows
from withhold.audit.evidence import Evidence
from withhold.audit.findings import AuditedData, Map, Rung
from withhold.audit.gate import Checked, GateResult, check_gate, parse_gate
from withhold.certificate.claim_wording import PLAN_ASSUMPTIONS
from withhold.certificate.claims import Behind, CertifiedData, Lift, NoGroupClaim, ReleaseClaim
from withhold.certificate.release_file import ASSUMPTIONS

IMG = "<img src=x onerror=alert(1)>"


def voices(*, gate: str | None = "speaker>floor+2; digit<95", **others: Any) -> Evidence:
    """Like AudioMNIST: a release that fools the old model, and gives every speaker away."""
    rng = np.random.default_rng(1)
    people = {f"{i:02d}": float(v) for i, v in enumerate(1 - rng.exponential(0.016, 60))}
    attributes = {
        "speaker": found(
            "suppress",
            informed=0.984,
            ignorant=0.0021,
            original=0.99,
            classes=60,
            linked=linked({5: 0.9985, 20: 1.0, 50: 1.0}),
            ladder=ladder(
                (0.0167, 0.871, 0.902, 0.955, 0.79, 0.964, 0.979, 0.984, 0.981),
                skipped={"mlp, 5 seeds": "the budget of 60 s was used up"},
            ),
            models=ladder((0.0167, 0.93, 0.94, 0.97, 0.85, 0.98, 0.985, 0.99)),
            by_class=slices("speaker", people, n=100),
            by_group=slices("gender", {"female": 0.996, "male": 0.981}, n=3000)
            + slices("accent", {f"accent {i}": 0.97 + 0.001 * i for i in range(16)}),
            worst_group=slices("gender", {"female": 0.996}, n=3000)[0],
            seconds=214.0,
        ),
        "digit": found(
            "preserve",
            informed=0.997,
            ignorant=0.994,
            original=0.997,
            ladder=ladder((0.1, 0.98, 0.99, 0.995, 0.97, 0.996, 0.997, 0.997)),
            by_class=slices("digit", {str(i): 0.99 + 0.001 * i for i in range(10)}),
            worst_group=None,
        ),
        "accent": found("hidden", informed=0.911, ignorant=0.64, original=0.99, classes=16),
        "gender": found(
            "hidden",
            informed=0.964,
            ignorant=0.877,
            original=0.999,
            classes=2,
            majority=0.8,
            floor=0.8,
        ),
    }
    values: dict[str, Any] = {
        "feasibility": possible(
            attributes,
            warnings=(
                "'speaker' determines 'accent': anyone who reads 'accent' learns 2.31 bits of"
                " 'speaker', so the two roles conflict",
            ),
        ),
        "distortion": moved(),
        "map": clusters({"speaker": 60, "digit": 10, "accent": 16, "gender": 2}),
        "settings": {
            "seed": 0,
            "train": 21000,
            "val": 3000,
            "test": 6000,
            "attackers": ["prior", "logistic", "nearest", "kernel", "trees", "mlp"],
            "budget": {"seconds": 60, "draws": 1},
        },
        "seconds": {"reading": 1.2, "attackers": 512.4, "map": 9.1, "intervals": 4.0},
        "notes": ("12 records have no accent and are left out of its figures.",),
        "gate": None
        if gate is None
        else check_gate(parse_gate(gate, list(attributes)), attributes),
    }
    return evidence(attributes, **values | others)


def at_floor(**others: Any) -> Evidence:
    """A release from which the attackers read nothing of the speaker; accent raises the floor."""
    attributes = {
        "speaker": found(
            "suppress",
            informed=0.051,
            ignorant=0.048,
            original=0.99,
            classes=60,
            floor=0.05,
            linked=linked({5: 0.05, 20: 0.0667}),
            ladder=ladder((0.0167, 0.049, 0.05, 0.047, 0.05, 0.05, 0.05, 0.051)),
        ),
        "accent": found("preserve", informed=0.93, ignorant=0.91, original=0.99, classes=16),
        "digit": found("hidden", informed=0.81, ignorant=0.66, original=0.997),
    }
    values: dict[str, Any] = {
        "distortion": moved(),
        "map": clusters({"speaker": 60, "accent": 16, "digit": 10}, mixed=True),
        "gate": check_gate(parse_gate("speaker>floor+2", list(attributes)), attributes),
    }
    return evidence(attributes, **values | others)


def proved(bound: float = 0.031, informed: float = 0.019, **others: Any) -> Evidence:
    """A release of codes with a certificate: the speaker is read no better than by guessing."""
    checked = bool(others.pop("checked", True))
    attributes = {
        "speaker": found(
            "suppress",
            informed=informed,
            ignorant=0.018,
            original=0.99,
            classes=60,
            linked=linked({5: 0.02, 20: 0.0333}),
            certificate=certified(bound, checked=checked, verified=True, **others),
        ),
        "digit": found("preserve", informed=0.95, ignorant=0.93, original=0.997),
    }
    return evidence(attributes, certificate=source(checked=checked))


def certified_release(**others: Any) -> Evidence:
    """A release of codes with the certificate of its own rows; one unnamed attribute is lost."""
    signed = others.pop("signature", "verified")
    attributes = {
        "speaker": found(
            "suppress",
            informed=0.019,
            ignorant=0.018,
            original=0.99,
            classes=60,
            linked=linked({5: 0.02, 20: 0.0333}),
            ladder=ladder((0.0167, 0.017, 0.018, 0.017, 0.016, 0.018, 0.019, 0.019)),
            all_rows=all_rows(
                {"all": 0.0171, "train": 0.0173, "val": 0.0165, "test": 0.0169}, 0.0167
            ),
            subgroup=subgroup(0.05, 0.0167),
            smallest_leak=0.021,
            certificate=certified(release=given(), verified=signed == "verified", **others),
        ),
        "digit": found("preserve", informed=0.95, ignorant=0.93, original=0.997),
        "accent": found("hidden", informed=0.71, ignorant=0.6, original=0.99, classes=16),
        "gender": found(
            "hidden", informed=0.802, original=0.999, classes=2, majority=0.8, floor=0.8
        ),
    }
    return evidence(
        attributes,
        certificate=source(
            signature=signed,
            codebook_sha256="",
            fit_sha256="",
            data=CertifiedData(
                name="release.parquet", records=30000, part="all", sha256="41ab" * 16
            ),
            notes=("Columns room were kept by name. This certificate does not cover them.",),
        ),
        columns=(
            column("room", "category", speaker=0.02),
            column("(row order)", "number", speaker=0.017),
            skipped("take", "it is the same in every record"),
        ),
        copies={"train": copies(0), "val": copies(0), "test": copies(0)},
        distortion=moved(),
        map=clusters({"speaker": 60, "digit": 10, "accent": 16, "gender": 2}, mixed=True),
        release=AuditedData(
            name="release.parquet",
            records=30000,
            features=512,
            sha256="41ab" * 16,
            sha256_of="file",
        ),
    )


def exact_release(
    claim: ReleaseClaim | None = None,
    *,
    verified: bool = True,
    table: bool = False,
    file: bool = True,
    informed: float = 0.0168,
) -> Evidence:
    """An exact release: nothing is said about later records. `file`: the key signed this file."""
    of_this_file = table and verified and file
    rows = CertifiedRows(
        checked=not table,
        of_this_file=of_this_file,
        recounted=None if table else 0.021,
        release=planned() if claim is None else claim,
        verified=verified,
    )
    attributes = {
        "speaker": found(
            "suppress",
            informed=informed,
            ignorant=0.0165,
            original=0.99,
            classes=60,
            linked=linked({5: 0.017, 20: 0.0167}),
            certificate=rows,
        ),
        "digit": found("preserve", informed=0.993, ignorant=0.99, original=0.997),
    }
    return evidence(
        attributes,
        certificate=source(
            method="exact",
            checked=not table,
            table=table,
            of_this_file=of_this_file,
            signature="verified" if verified else "unsigned",
            assumptions=(*PLAN_ASSUMPTIONS, *ASSUMPTIONS),
            data=CertifiedData(
                name="release.parquet", records=30000, part="all", sha256="41ab" * 16
            ),
        ),
    )


def column_left(name: str = "gender") -> Evidence:
    """A release that still holds the suppressed column, or one that is a copy of it."""
    attributes = {
        "gender": found(
            "suppress",
            informed=0.5,
            ignorant=0.5,
            original=0.99,
            classes=2,
            column=column(name, gender="copy").tells["gender"],
        ),
        "digit": found("preserve", informed=0.95, ignorant=0.93, original=0.997),
    }
    columns = (
        column("room", "category", gender=0.5),
        column("device", "category", gender=0.79),
        column(name, "category", gender="copy"),
    )
    return evidence(attributes, columns=columns)


def untouched() -> Evidence:
    """A release whose training records are the originals."""
    speaker = found("suppress", informed=0.017, ignorant=0.017, classes=60, copied=True)
    return evidence(
        {"speaker": speaker},
        copies={"train": copies(4000), "val": copies(1000, 1000), "test": copies(0)},
    )


def blind() -> Evidence:
    """The attackers cannot read the attribute from the original either."""
    return evidence(
        {
            "mood": found("suppress", informed=0.253, ignorant=0.25, original=0.252, classes=4),
            "digit": found("preserve", informed=0.9),
        }
    )


def alone(status: str = "readable") -> Evidence:
    """An audit of the original without a release."""
    accuracy = {"readable": 0.99, "floor": 0.06, "blind": 0.0167}[status]
    floor = 0.06 if status == "floor" else None
    speaker = found(
        "suppress", informed=accuracy, original=accuracy, ignorant=None, classes=60, floor=floor
    )
    digit = found("hidden", informed=0.997, original=0.997, ignorant=None)
    return evidence({"speaker": speaker, "digit": digit}, release=None)


def labels() -> AttributeEvidence:
    """A multi-label attribute: average precision instead of a top 5."""
    made = found("suppress", informed=0.93, original=0.95, ignorant=0.7, classes=12, floor=0.82)
    scored = {
        "majority": 0.82,
        "kind": "multilabel",
        "original": tier(0.95, cmap=0.88, bits=0.5),
        "informed": tier(0.93, cmap=0.81, bits=0.4),
    }
    return made.model_copy(update=scored)


def crowded(classes: int = 1000, attributes: int = 8) -> Evidence:
    """As much as a report has to carry."""
    many = {f"{i:04d} of them": 0.5 + 0.0004 * i for i in range(classes)}
    made = {
        f"attribute {k}": found(
            "suppress" if k < 2 else "hidden",
            informed=0.7,
            classes=classes,
            linked=linked({5: 0.8, 20: 0.9, 50: 0.95}),
            ladder=ladder((0.0167, 0.4, 0.5, 0.6, 0.5, 0.6, 0.65, 0.7)),
            by_class=slices(f"attribute {k}", many),
            by_group=slices("person", many),
        )
        for k in range(attributes)
    }
    return evidence(
        made,
        map=clusters(dict.fromkeys(made, classes), points=2000),
        distortion=moved(),
    )


def hostile(name: str = IMG) -> Evidence:
    """Every text that comes from outside is `name`."""
    bad = found(
        "suppress",
        informed=0.9,
        linked=linked({5: 0.95}),
        ladder=(
            Rung(attacker=name, val_accuracy=0.9, accuracy=0.9, ci=(0.88, 0.92), seconds=1.0),
            Rung(attacker=f"{name} 2", skipped=name),
        ),
        models=(Rung(attacker=name, accuracy=0.9, ci=(0.88, 0.92)),),
        by_class=slices(name, {name: 0.9}),
        by_group=slices(name, {name: 0.9}),
        worst_group=slices(name, {name: 0.9})[0],
        units=name,
        notes=(name,),
        certificate=certified(
            groups=NoGroupClaim(reason=name),
            worst_lift=Lift(code=0, of=name, lift=2.0, share=0.1),
            smallest_behind_code=Behind(code=0, number=3, of=name),
        ),
    )
    attributes = {name: bad, f"{name} kept": bad.model_copy(update={"role": "preserve"})}
    picture = Map(
        original=((0.0, 0.0), (1.0, 1.0)),
        release=((0.0, 1.0), (1.0, 0.0)),
        labels={name: (0, -1), "elsewhere": (0, 0)},
        classes={name: (name,), "elsewhere": (name,)},
    )
    broken = Checked(condition=name, failed=True, found=1.0, limit=0.0, said=name)
    where = AuditedData(name=name, records=2, features=1, sha256=name)
    told = CertifiedData(name=name, records=2, part="test", sha256=name)
    return evidence(
        attributes,
        original=where,
        release=where,
        certificate=source(
            version=name,
            method=name,
            codebook_sha256=name,
            fit_sha256=name,
            data=told,
            others={name: 0.5},
            assumptions=(name,),
            notes=(name,),
        ),
        version=name,
        feasibility=possible(attributes, warnings=(name,)),
        map=picture,
        distortion=moved(),
        gate=GateResult(passed=False, conditions=(broken,)),
        settings={name: {name: [name]}},
        seconds={name: 1.0},
        notes=(name,),
    )
