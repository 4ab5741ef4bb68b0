"""Settings of `codebook` side by side, on several extractors and seeds: `kind: equal-proof`.

A release of codes is read by a table: for every code the commonest value among the train rows. That
is the best reader there is of one released record, so no network has to be trained, and every
figure is of the released draws themselves.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.bench.audits import row_key
from withhold.bench.media_releases import features_of
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import markdown_table, print_cells
from withhold.bench.row_cache import keep_row, row_folder
from withhold.core.atomic import write_bytes
from withhold.core.progress import Progress
from withhold.datasets.media_sets import public_media
from withhold.methods import Channel
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.dataset import release_dataset

SEEDS = (0, 1, 2)
LINKED = "20"


@dataclass(frozen=True)
class ProofRow:
    """One setting on one extractor and seed. Fractions."""

    extractor: str
    label: str
    seed: int
    codes: int
    later: float  # stated bound for records never fitted
    later_linked: float
    one: float  # exact bound for the released train and test rows
    linked: float
    others: float  # elimination with all other labels, measured
    kept: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class EqualProofResult:
    """Every setting, extractor and seed."""

    recipe: Recipe
    rows: tuple[ProofRow, ...]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines: mean and spread over the seeds, in %."""
        names = list(self.recipe.measure)
        header = ["features", "settings", "codes", *(f"{n} read" for n in names)]
        header += [
            "later bound",
            f"later, {LINKED} linked",
            "these rows",
            f"these, {LINKED} linked",
        ]
        header += ["all other labels known", "fit s"]
        lines = []
        for extractor in dict.fromkeys(r.extractor for r in self.rows):
            for label in dict.fromkeys(r.label for r in self.rows):
                of = [r for r in self.rows if (r.extractor, r.label) == (extractor, label)]
                figures = [[r.kept[n] for r in of] for n in names]
                figures += [[r.later for r in of], [r.later_linked for r in of]]
                figures += [[r.one for r in of], [r.linked for r in of], [r.others for r in of]]
                number = f"{np.mean([r.codes for r in of]):.0f}"
                seconds = f"{np.mean([r.seconds for r in of]):.0f}"
                lines.append([extractor, label, number, *map(_percent, figures), seconds])
        return header, lines

    @property
    def legend(self) -> str:
        """What the table shows."""
        return (
            f"In %, mean ± standard deviation of {len(SEEDS)} seeds. {self.recipe.suppress}"
            " suppressed, nothing preserved by name. read: from one released test record by"
            " the best table of the released train records. later bound: no attacker reads more"
            " from a record that was never fitted (95 % confidence, draws counted). these rows:"
            " exact, for all rows of this release. all other labels known: an elimination attack,"
            " measured."
        )

    def to_markdown(self) -> str:
        """The table as Markdown, headed by its command."""
        table = markdown_table(*self.cells(), left=2)
        name = self.recipe.name
        return f"### {self.recipe.title}\n\n`withhold bench {name}`\n\n{table}\n\n{self.legend}\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        return {"recipe": self.recipe.name, "rows": [asdict(row) for row in self.rows]}

    def print(self) -> None:
        """The table in a terminal."""
        print_cells(self.recipe.title, *self.cells(), self.legend, left=2)


def run_equal_proof(recipe: Recipe, output: Path, *, progress: Progress) -> EqualProofResult:
    """Fit, certify and release every setting, or go on where it was interrupted."""
    file = public_media(recipe.data, output / "media", most=recipe.most)
    rows = []
    for spec in recipe.extractors:
        folder = row_folder(output, spec.shown)
        folder.mkdir(parents=True, exist_ok=True)
        data = features_of(spec, file, folder / "original.parquet", progress=progress)
        digest = data.digest()
        for row in recipe.rows:
            for seed in SEEDS:
                key = row_key([row.model_dump(mode="json"), recipe.suppress, seed, digest])
                progress.say(f"{spec.shown}: {row.label}, seed {seed}")
                make = partial(_row, recipe, row, spec.shown, data, seed, progress)
                place = row_folder(folder, f"{row.label} {seed}")
                rows.append(ProofRow(**keep_row(place, key, make)))
    result = EqualProofResult(recipe, tuple(rows))
    write_bytes(output / "results.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def _row(
    recipe: Recipe, row: RecipeRow, extractor: str, data: Dataset, seed: int, progress: Progress
) -> dict[str, Any]:
    roles, name = Roles.of(recipe.suppress), recipe.suppress
    started = time.perf_counter()
    bundle = fit_bundle(
        data, roles, config=row.config, seed=seed, key=bytes([seed]) * 32, progress=progress
    )
    seconds = time.perf_counter() - started
    released = release_dataset(bundle, data)
    assert released.certificate is not None
    claim = released.certificate.attributes[name]
    assert claim.release is not None
    assert claim.later is not None
    made = bundle.modifier
    assert isinstance(made, Channel)
    code = np.unique(released.x, axis=0, return_inverse=True)[1].reshape(-1)
    parts = data.parts
    assert parts is not None
    test = (parts == "test")[released.original_rows]
    kept = {}
    for wanted in recipe.measure:
        of = data.attribute(wanted).codes[released.original_rows]
        table = np.zeros((int(of.max()) + 1, int(code.max()) + 1))
        np.add.at(table, (of[~test], code[~test]), 1)
        kept[wanted] = float((table.argmax(axis=0)[code[test]] == of[test]).mean())
    stated = claim.later.stated
    found = ProofRow(
        extractor,
        row.label,
        seed,
        len(made.codes),
        1.0 if stated is None else stated,
        claim.later.linked[LINKED].bound,
        claim.release.one,
        claim.release.linked[LINKED],
        claim.release.measured["all-but-one"],
        kept,
        round(seconds, 1),
    )
    return asdict(found)


def _percent(values: list[float]) -> str:
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}"
