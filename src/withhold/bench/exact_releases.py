"""Releases of given records by `exact`, beside other methods: `kind: exact`.

Every row is fitted and released with several seeds. Its method is `exact`, `codebook`, which is
proved for the same rows by the table of its draws, or `identity`, the original. All records leave;
of a dataset that is split in time (AudioMNIST) the training part. What can be read is measured on
30 % of the released rows, by models of the others (`best_reader`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.bench.best_reader import read_features, read_table
from withhold.bench.fit_row import row_config, row_method, row_roles
from withhold.bench.media_features import features_of, media_of
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, with_spread
from withhold.bench.row_cache import cached_rows
from withhold.certificate.claims import ReleaseClaim
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.splits import SPLIT
from withhold.release.released_dataset import ReleasedDataset, release_dataset
from withhold.release.wishes import Wishes

SEEDS = (0, 1, 2)
Figures = tuple[float, ...]  # one for each seed


@dataclass(frozen=True)
class ExactRow:
    """One release, over the seeds. Accuracies are fractions; nothing is proved of an original."""

    label: str
    floor: float
    proved: dict[str, Figures]  # by column of `_PROVED`
    attack: Figures
    useful: dict[str, Figures]
    seconds: Figures


# The columns of what is proved, and of the elimination attacks that are measured beside it.
_PROVED = ("codes", "proved 1", "20", "50", "half", "all others", "all others, proved", "table")


class ExactResult(RecipeResult):
    """Every row of a recipe."""

    rows: tuple[ExactRow, ...]
    left = 1
    legend = (
        f"In %, mean ± standard deviation of {len(SEEDS)} seeds. proved 1, 20, 50: no attacker who"
        " does not know the draws reads more from so many rows of one class; the draws of codebook"
        " are fixed by its key, so there it is the bound of the column table. half, all others:"
        " elimination attacks that know these labels (measured). all others, proved: no attacker"
        " with all other labels reads more, even if it knew the draws; without rows held back there"
        " is no such bound. table: the bound for whoever knows how often each class drew each"
        " code. attack and the other columns: read by a model"
        " that was trained on 70 % of the released rows. seconds: of fit and release."
    )

    def cells(self) -> Cells:
        """A line for every release."""
        useful = list(dict.fromkeys(n for row in self.rows for n in row.useful))
        header = ["", "codes", "floor", *_PROVED[1:], "attack", *useful, "seconds"]
        lines = []
        for row in self.rows:
            codes = row.proved.get("codes")
            figures = [row.proved.get(name) for name in _PROVED[1:]]
            figures += [row.attack, *(row.useful.get(n) for n in useful)]
            lines.append(
                [
                    row.label,
                    "–" if codes is None else f"{np.mean(codes):.0f}",
                    f"{100 * row.floor:.2f}",
                    *("–" if f is None else with_spread(f) for f in figures),
                    f"{np.mean(row.seconds):.0f}",
                ]
            )
        return header, lines


def run_exact(recipe: Recipe, output: Path, *, progress: Progress) -> ExactResult:
    """Release every row with every seed, or resume after an interruption."""
    data = given_records(recipe, output, progress)
    make = partial(_row, recipe, data=data, progress=progress)
    rows = cached_rows(recipe, output, data.digest(), ExactRow, make)
    return ExactResult(recipe, rows).write(output)


def given_records(recipe: Recipe, output: Path, progress: Progress) -> Dataset:
    """The records to release: a whole media set, or the training part of a dataset with a split."""
    if recipe.extractors:
        file = media_of(recipe, output / "media", progress=progress)
        spec = recipe.extractors[0]
        return features_of(spec, file, output / "original.parquet", progress=progress).without(
            [SPLIT]
        )
    data = public(recipe.data, progress=progress)
    return data if data.parts is None else data.part("train").without([SPLIT])


def _row(recipe: Recipe, row: RecipeRow, *, data: Dataset, progress: Progress) -> ExactRow:
    roles, method = row_roles(recipe, row), row_method(recipe, row)
    secret = roles.suppress[0]
    wanted = [n for n in recipe.measure if n not in roles.suppress]
    proved: dict[str, list[float]] = {}
    useful: dict[str, list[float]] = {n: [] for n in wanted}
    attack, took = [], []
    floor = float(data.attribute(secret).majority)
    for seed in SEEDS:
        progress.say(f"{row.label}, seed {seed}")
        started = time.monotonic()
        bundle = fit_bundle(
            data,
            roles,
            method=method,
            config=row_config(recipe, row),
            seed=seed,
            key=bytes([seed]) * 32,
            progress=progress,
        )
        released = release_dataset(bundle, data, Wishes(hold_back=row.hold_back))
        took.append(time.monotonic() - started)
        if released.certificate is not None:
            claim = released.certificate.attributes[secret].release
            assert claim is not None
            floor = claim.floor
            for name, value in _figures(claim, released.certificate.codes).items():
                proved.setdefault(name, []).append(value)
        attack.append(read_from(released, data.attribute(secret), seed, strongest=True))
        for name in wanted:
            useful[name].append(read_from(released, data.attribute(name), seed))
    return ExactRow(
        row.label,
        floor,
        {n: tuple(v) for n, v in proved.items()},
        tuple(attack),
        {n: tuple(v) for n, v in useful.items()},
        tuple(took),
    )


def _figures(claim: ReleaseClaim, codes: int) -> dict[str, float]:
    """The figures of a claim, in the order of `_PROVED`."""
    linked = claim.linked if claim.plan is None else claim.plan.linked
    found = (
        float(codes),
        claim.stated,
        linked["20"],
        linked["50"],
        claim.measured["0.5"],
        claim.measured["all-but-one"],
        claim.known["all-but-one"],
        claim.one,
    )
    return dict(zip(_PROVED, found, strict=True))


def read_from(
    released: ReleasedDataset, attribute: Attribute, seed: int, *, strongest: bool = False
) -> float:
    """How often a model of the other released rows names the attribute of an original row."""
    of_rows = attribute.rows(released.original_rows)
    if released.tabular:
        return read_table(released.table, of_rows, seed=seed, trees_only=not strongest)
    return read_features(released.x, of_rows, seed=seed)
