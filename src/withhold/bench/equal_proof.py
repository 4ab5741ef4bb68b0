"""Settings of `codebook` side by side, on several extractors and seeds: `kind: equal-proof`.

A release of codes is read by a table: for every code, the commonest value among the train rows. No
attacker of one released record does better, so no network has to be trained, and every figure is
of the released draws themselves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.bench.fit_row import code_count
from withhold.bench.media_features import features_of, media_of
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, with_spread
from withhold.bench.row_cache import keep_row, recipe_key, row_folder
from withhold.core.progress import Progress
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.released_dataset import release_dataset

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


class EqualProofResult(RecipeResult):
    """Every setting, extractor and seed."""

    rows: tuple[ProofRow, ...]
    left = 2

    def cells(self) -> Cells:
        """Mean and spread over the seeds, in %."""
        names = self.recipe.measure
        header = ["features", "settings", "codes", *(f"{n} read" for n in names), "later bound"]
        header += [f"later, {LINKED} linked", "these rows", f"these, {LINKED} linked"]
        header += ["all other labels known", "fit s"]
        lines = []
        for extractor in dict.fromkeys(r.extractor for r in self.rows):
            for label in dict.fromkeys(r.label for r in self.rows):
                of = [r for r in self.rows if (r.extractor, r.label) == (extractor, label)]
                figures = [[r.kept[n] for r in of] for n in names]
                bounds = [(r.later, r.later_linked, r.one, r.linked, r.others) for r in of]
                figures += [list(column) for column in zip(*bounds, strict=True)]
                codes, seconds = (
                    np.mean([getattr(r, f) for r in of]) for f in ("codes", "seconds")
                )
                line = [extractor, label, f"{codes:.0f}", *map(with_spread, figures)]
                lines.append([*line, f"{seconds:.0f}"])
        return header, lines

    @property
    def legend(self) -> str:
        """What the table shows."""
        return (
            f"In %, mean ± standard deviation of {len(SEEDS)} seeds. {self.recipe.suppress} is"
            " suppressed, and no attribute is named to be preserved. read: from one released test"
            " record, by the best table made from the released train records. later bound: no"
            " attacker reads more from a record that was never fitted (95 % confidence, draws"
            " counted). these rows: exact, for all rows of this release. all other labels known: an"
            " elimination attack, measured."
        )


def run_equal_proof(recipe: Recipe, output: Path, *, progress: Progress) -> EqualProofResult:
    """Fit, certify and release every setting, or resume after an interruption."""
    file = media_of(recipe, output / "media", progress=progress)
    rows = []
    for spec in recipe.extractors:
        folder = row_folder(output, spec.shown)
        folder.mkdir(parents=True, exist_ok=True)
        data = features_of(spec, file, folder / "original.parquet", progress=progress)
        digest = data.digest()
        for row in recipe.rows:
            for seed in SEEDS:
                key = recipe_key(recipe, row, seed, digest)
                progress.say(f"{spec.shown}: {row.label}, seed {seed}")
                make = partial(_row, recipe, row, spec.shown, data, seed, progress)
                place = row_folder(folder, f"{row.label} {seed}")
                rows.append(keep_row(place, key, ProofRow, make))
    return EqualProofResult(recipe, tuple(rows)).write(output)


def _row(
    recipe: Recipe, row: RecipeRow, extractor: str, data: Dataset, seed: int, progress: Progress
) -> ProofRow:
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
    return ProofRow(
        extractor,
        row.label,
        seed,
        code_count(bundle) or 0,
        1.0 if stated is None else stated,
        claim.later.linked[LINKED].bound,
        claim.release.one,
        claim.release.linked[LINKED],
        claim.release.measured["all-but-one"],
        kept,
        round(seconds, 1),
    )
