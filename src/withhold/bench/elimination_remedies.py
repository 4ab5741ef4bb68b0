"""`withhold bench elimination`: what other rows' labels tell about a fitted row, and remedies.

A codebook is balanced on the records it was fitted on, so a code may *lack* the class of a row
whose label is missing. The data are small and generated, where the effect is largest. Each remedy
is measured by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.audit.pool import run_all
from withhold.bench.result_table import BenchResult, Cells, with_spread
from withhold.certificate.elimination_bound import ALL_BUT_ONE
from withhold.core.progress import Progress
from withhold.methods.features.codebook import CodebookModifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.released_dataset import release_dataset

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
class EliminationResult(BenchResult):
    """Every way in every world."""

    rows: tuple[Way, ...]
    title = "Elimination, and what weakens it"
    command, file, left = "elimination", "elimination.json", 2
    legend = (
        f"In %, mean ± standard deviation of {len(SEEDS)} seeds. The fitted rows are released. one"
        " row: the exact bound for these rows. half of the labels, all other labels: attacks that"
        " know these labels and guess the commonest class of a code, or the class that it lacks."
        " later bound: of the certificate for records never fitted, which does not cover fitted"
        " ones. useful kept: a label that the method was not told about, read from the release of"
        " other records."
    )

    def cells(self) -> Cells:
        """Mean and spread over the seeds, in %."""
        header = ["classes, records", "way", "codes", "floor", "later bound", "one row"]
        header += ["half of the labels", "all other labels", "useful kept"]
        lines = []
        for row in self.rows:
            figures = (row.floor, row.later, row.one, row.half, row.others, row.useful)
            start = [f"{row.classes}, {row.records:,}", row.way, f"{row.codes:.0f}"]
            lines.append([*start, *map(with_spread, figures)])
        return header, lines


def measure_elimination(output: Path, *, progress: Progress) -> EliminationResult:
    """Fit every way in every world."""
    cases = [(k, n, way, seed) for k, n in WORLDS for way in WAYS for seed in SEEDS]
    with progress.stage("elimination", len(cases)) as bar:
        tasks = [(1.0, case) for case in cases]
        found = dict(run_all(_case, tasks, workers=None, stage=bar))
    rows = []
    for k, n in WORLDS:
        for way in WAYS:
            of = [found[i] for i, case in enumerate(cases) if case[:3] == (k, n, way)]
            codes, *columns = zip(*of, strict=True)
            rows.append(Way(k, n, way, float(np.mean(codes)), *columns))
    return EliminationResult(tuple(rows)).write(output)


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
