"""`withhold bench elimination`: what knowing the other labels tells of a fitted row, and remedies.

A codebook is balanced on the records it was fitted on, so a code may *lack* the class of a row
whose label is missing. Small generated data, where that shows most; each remedy by itself.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.audit.pool import run_all
from withhold.bench.result_table import markdown_table, print_cells
from withhold.certificate.elimination_bound import ALL_BUT_ONE
from withhold.core.atomic import write_bytes
from withhold.core.progress import Progress
from withhold.methods.features.codebook import CodebookModifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.dataset import release_dataset

SEEDS = (0, 1, 2)
WORLDS = ((2, 2000), (5, 1200), (10, 5000))  # classes, records
WAYS: dict[str, dict[str, Any]] = {
    "200 codes, one network": {"codes": 200, "folds": 1, "sharpness": 4.0},
    "200 codes, softer (sharpness 1)": {"codes": 200, "folds": 1, "sharpness": 1.0},
    "200 codes, two networks (cross-fitted)": {"codes": 200, "folds": 2, "sharpness": 4.0},
    "20 codes, one network": {"codes": 20, "folds": 1, "sharpness": 4.0},
    "codes and sharpness chosen, one network": {"folds": 1},
    "default: chosen, two networks": {},
    "label at transform, 200 codes": {"use_labels": True, "codes": 200, "folds": 1},
    "label at transform, codes chosen": {"use_labels": True, "folds": 1},
    "barycentre, 200 codes": {"solver": "barycentre", "use_labels": True, "codes": 200},
    "barycentre, codes chosen": {"solver": "barycentre", "use_labels": True},
}


@dataclass(frozen=True)
class Way:
    """One way in one world, over the seeds. Fractions; `codes` is a mean."""

    classes: int
    records: int
    way: str
    codes: float
    floor: tuple[float, ...]
    later: tuple[float, ...]
    one: tuple[float, ...]
    half: tuple[float, ...]
    others: tuple[float, ...]  # all labels but one known
    useful: tuple[float, ...]


@dataclass(frozen=True)
class EliminationResult:
    """Every way in every world."""

    rows: tuple[Way, ...]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines: mean and spread over the seeds, in %."""
        header = ["classes, records", "way", "codes", "floor", "later bound", "one row"]
        header += ["half of the labels", "all other labels", "useful kept"]
        lines = [
            [
                f"{row.classes}, {row.records:,}",
                row.way,
                f"{row.codes:.0f}",
                *(
                    _percent(v)
                    for v in (row.floor, row.later, row.one, row.half, row.others, row.useful)
                ),
            ]
            for row in self.rows
        ]
        return header, lines

    def to_markdown(self) -> str:
        """The table as Markdown."""
        header, lines = self.cells()
        return (
            f"`withhold bench elimination`\n\n{markdown_table(header, lines, left=2)}\n\n{LEGEND}\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        return {"rows": [asdict(row) for row in self.rows]}

    def print(self) -> None:
        """The table in a terminal."""
        print_cells("Elimination, and what weakens it", *self.cells(), LEGEND, left=2)


LEGEND = (
    f"In %, mean and standard deviation of {len(SEEDS)} seeds. The fitted rows are released. one"
    " row: the exact bound for these rows. half of the labels, all other labels: attacks that know"
    " them and guess the commonest class of a code, or the one it lacks. later bound: of the"
    " certificate for records never fitted, which does not cover fitted ones. useful: a label that"
    " the method was not told of, read from the release of other records."
)


def measure_elimination(output: Path, *, progress: Progress) -> EliminationResult:
    """Fit every way in every world."""
    cases = [(k, n, way, seed) for k, n in WORLDS for way in WAYS for seed in SEEDS]
    with progress.stage("elimination", len(cases)) as bar:
        tasks = [(1.0, case) for case in cases]
        found = dict(run_all(partial(_case), tasks, workers=None, stage=bar))
    rows = []
    for k, n in WORLDS:
        for way in WAYS:
            of = [found[i] for i, case in enumerate(cases) if case[:3] == (k, n, way)]
            columns = [tuple(float(v) for v in column) for column in zip(*of, strict=True)]
            rows.append(Way(k, n, way, float(np.mean(columns[0])), *columns[1:]))
    result = EliminationResult(tuple(rows))
    write_bytes(
        output / "elimination.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n"
    )
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def _case(case: tuple[int, int, str, int]) -> tuple[float, ...]:
    """codes, floor, later bound, one row, half, all others, useful: of one fit."""
    classes, records, way, seed = case
    data, useful = _world(classes, records, seed)
    key = bytes([seed]) * 32
    bundle = fit_bundle(data, Roles.of("secret"), config=WAYS[way], seed=seed, key=key)
    made = bundle.modifier
    assert isinstance(made, CodebookModifier)
    released = release_dataset(bundle, data.part("train"))
    assert released.certificate is not None
    claim = released.certificate.attributes["secret"]
    assert claim.release is not None
    labels = {n: data.attribute(n) for n in made.needs}
    drawn, train = made.draw(data.x, labels), data.parts == "train"
    table = np.zeros((int(useful.max()) + 1, len(made.codes)))
    np.add.at(table, (useful[train], drawn[train]), 1)
    kept = (table.argmax(axis=0)[drawn[~train]] == useful[~train]).mean()
    later = 1.0 if claim.later is None else claim.later.bound
    measured = claim.release.measured
    return (
        float(len(made.codes)),
        claim.release.floor,
        later,
        claim.release.one,
        measured["0.5"],
        measured[ALL_BUT_ONE],
        float(kept),
    )


def _world(classes: int, records: int, seed: int) -> tuple[Dataset, np.ndarray[Any, Any]]:
    """A secret and a useful label, both in the same 16 features."""
    rng = np.random.default_rng([seed, classes])
    secret, useful = rng.integers(0, classes, records), rng.integers(0, 4, records)
    x = rng.standard_normal((classes, 16))[secret]
    x = x + 1.5 * rng.standard_normal((4, 16))[useful] + rng.standard_normal((records, 16))
    data = Dataset.from_arrays(x, {"secret": [f"c{v}" for v in secret]}, name="generated")
    return data.with_split(), useful


def _percent(values: tuple[float, ...]) -> str:
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}"
