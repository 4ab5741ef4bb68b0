"""The evidence of an audit as it may be handed over with a release.

The owner's evidence holds facts about single records of the original: a picture of records, figures
for values that few people have, notes that name such values, and the hash of the original, with
which anyone who knows all of it but one label could try that label. The largest distance between a
record and its release shows whose row that is. The bits that two columns of the original share are
a hash too: someone who knows the originals and most labels computes them for every guess of the
others. Even two digits of them gave away 20 of 22 unknown labels of 400. Warnings about roles state
shares of the rows that leave: whoever knows all other labels of these subtracts. So they do with
the number of labelled rows. None of these leaves.

Figures of attributes are such a hash too, so they leave in steps (`coarse_figures`). Those of other
attributes than the suppressed ones as well: the test part is stratified by the suppressed labels,
and the records that were held back are missing from it. The claims of the certificate were rounded
when it was made (`certificate.stated_figures`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from withhold.audit.coarse_figures import coarse, coarse_wider
from withhold.audit.evidence import Evidence
from withhold.audit.findings import Column, Distortion
from withhold.audit.gate import GateResult
from withhold.core.coarse_grid import LEAST, Grid
from withhold.core.errors import listing

E = TypeVar("E", bound=Evidence)


def handed_over(evidence: E) -> E:
    """The same findings without facts about single records of the original."""
    steps = {name: Grid.of(a.records) for name, a in evidence.attributes.items()}
    coarsest = max(steps.values(), key=lambda grid: grid.step, default=Grid(LEAST))
    original = evidence.original.model_copy(update={"sha256": ""})
    possible = replace(
        evidence.feasibility,
        entropy={},
        pairs=(),
        majority={},
        warnings=(),
        floor={n: coarsest.near(f) for n, f in evidence.feasibility.floor.items()},
        ceiling={n: coarsest.near(c) for n, c in evidence.feasibility.ceiling.items()},
    )
    return evidence.model_copy(
        update={
            "attributes": {name: coarse(a) for name, a in evidence.attributes.items()},
            "original": original,
            "map": None,
            "distortion": None if evidence.distortion is None else _moved(evidence.distortion),
            "feasibility": possible,
            "columns": tuple(_column(c, steps) for c in evidence.columns),
            "settings": {n: v for n, v in evidence.settings.items() if n != "used"},
            "notes": (*evidence.notes, *_notes(evidence)),
            "gate": None if evidence.gate is None else _gate(evidence.gate),
        }
    )


def _notes(evidence: Evidence) -> list[str]:
    """The step of the figures, which is the same for attributes with as many test records."""
    steps: dict[float, list[str]] = {}
    for name, a in evidence.attributes.items():
        steps.setdefault(Grid.of(a.records).step, []).append(name)
    return [
        f"figures of {listing(names)} are in steps of {100 * step:.3g} points: all digits together"
        " would tell single labels to whoever knows the others. The owner has the exact figures"
        for step, names in steps.items()
    ]


def _moved(found: Distortion) -> Distortion:
    """The mean distance with two digits, without distances of single records."""
    mean, relative = (float(f"{value:.2g}") for value in (found.mean, found.relative))
    return Distortion(mean=mean, relative=relative, edges=(), counts=())


def _column(column: Column, steps: Mapping[str, Grid]) -> Column:
    tells = {
        name: coarse_wider(read, steps[name]) if name in steps else read
        for name, read in column.tells.items()
    }
    return column.model_copy(update={"tells": tells})


def _gate(gate: GateResult) -> GateResult:
    """Which conditions held, without the figures that they were compared with."""
    told = [c.model_copy(update={"found": None, "said": c.condition}) for c in gate.conditions]
    return gate.model_copy(update={"conditions": tuple(told)})
