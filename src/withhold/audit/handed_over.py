"""The evidence of an audit as it may be handed over with a release.

The owner's evidence holds facts about single records of the original: a picture of records, figures
for values that few people have, and the hash of the original, with which anyone who knows all of it
but one label could try that label. The bits that two columns of the original share are such a hash
too: someone who knows the originals and most labels computes them for every guess of the others.
Even two digits of them gave away 20 of 22 unknown labels of 400. None of these leaves.

Figures of suppressed attributes are such a hash too, so they leave in steps (`coarse_figures`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from withhold.audit.coarse_figures import LEAST, Grid, coarse, coarse_wider
from withhold.audit.evidence import Evidence
from withhold.audit.findings import Column
from withhold.audit.gate import GateResult

E = TypeVar("E", bound=Evidence)


def handed_over(evidence: E) -> E:
    """The same findings without facts about single records of the original."""
    hidden = evidence.suppressed
    attributes = {
        name: coarse(a)
        if name in hidden
        else a.model_copy(update={"by_class": (), "by_group": (), "worst_group": None})
        for name, a in evidence.attributes.items()
    }
    steps = {name: Grid.of(a.records) for name, a in hidden.items()}
    original = evidence.original.model_copy(update={"sha256": ""})
    possible = replace(
        evidence.feasibility,
        entropy={},
        pairs=(),
        majority={},
        floor={n: steps.get(n, Grid(LEAST)).near(f) for n, f in evidence.feasibility.floor.items()},
        ceiling={name: round(c, 2) for name, c in evidence.feasibility.ceiling.items()},
    )
    return evidence.model_copy(
        update={
            "attributes": attributes,
            "original": original,
            "map": None,
            "feasibility": possible,
            "columns": tuple(_column(c, steps) for c in evidence.columns),
            "notes": (*evidence.notes, *_notes(steps)),
            "gate": None if evidence.gate is None else _gate(evidence.gate),
        }
    )


def _notes(steps: Mapping[str, Grid]) -> list[str]:
    return [
        f"figures of {name} are in steps of {100 * grid.step:.3g} points: all digits together would"
        " tell single labels to whoever knows the others. The owner has the exact figures"
        for name, grid in steps.items()
    ]


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
