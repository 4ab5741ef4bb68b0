"""Releases of given records by `exact`: `kind: exact`.

Every row is fitted and released with several seeds. A model that reads a column is trained on 70 %
of the released rows and tested on the others: gradient-boosted trees for tables, and for features
the best guess from the code, which no other model of the code can beat on the training part.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingClassifier

from withhold.actions.fit import fit_bundle
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, with_spread
from withhold.bench.row_cache import cached_rows
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.released_dataset import ReleasedDataset, release_dataset

SEEDS = (0, 1, 2)
Figures = tuple[float, ...]  # one for each seed
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ExactRow:
    """One release, over the seeds. Accuracies are fractions."""

    label: str
    floor: float
    codes: Figures
    one: Figures
    linked20: Figures
    linked50: Figures
    half: Figures  # measured: half of the labels known
    others: Figures  # measured: all other labels known
    table: Figures  # whoever knows the table of the draws
    attack: Figures
    useful: dict[str, Figures]
    seconds: Figures


class ExactResult(RecipeResult):
    """Every row of a recipe."""

    rows: tuple[ExactRow, ...]
    left = 1
    legend = (
        f"In %, mean ± standard deviation of {len(SEEDS)} seeds. proved 1, 20, 50: no attacker who"
        " does not know the draws reads more from so many rows of one class. half, all others:"
        " elimination attacks that know these labels (measured). table: the bound for whoever also"
        " knows how often each class drew each code. attack and the other columns: read by a model"
        " that was trained on 70 % of the released rows. seconds: of fit and release."
    )

    def cells(self) -> Cells:
        """A line for every release."""
        useful = list(dict.fromkeys(n for row in self.rows for n in row.useful))
        header = ["", "codes", "floor", "proved 1", "20", "50", "half", "all others", "table"]
        header += ["attack", *useful, "seconds"]
        lines = []
        for row in self.rows:
            figures = (row.one, row.linked20, row.linked50, row.half, row.others, row.table)
            lines.append(
                [
                    row.label,
                    f"{np.mean(row.codes):.0f}",
                    f"{100 * row.floor:.2f}",
                    *map(with_spread, (*figures, row.attack)),
                    *(with_spread(row.useful[n]) if n in row.useful else "–" for n in useful),
                    f"{np.mean(row.seconds):.0f}",
                ]
            )
        return header, lines


def run_exact(recipe: Recipe, output: Path, *, progress: Progress) -> ExactResult:
    """Release every row with every seed, or resume after an interruption."""
    data = _given(public(recipe.data, progress=progress))
    make = partial(_row, recipe, data=data, progress=progress)
    rows = cached_rows(recipe, output, data.digest(), ExactRow, make)
    return ExactResult(recipe, rows).write(output)


def _given(data: Dataset) -> Dataset:
    """The records to release: the training part of a dataset that is split."""
    if data.parts is None:
        return data
    return data.part("train").without(["split"])


def _row(recipe: Recipe, row: RecipeRow, *, data: Dataset, progress: Progress) -> ExactRow:
    roles = Roles.of(row.suppress, row.preserve)
    secret = roles.suppress[0]
    wanted = [n for n in recipe.measure if n not in roles.suppress]
    found: dict[str, list[float]] = {}
    useful: dict[str, list[float]] = {n: [] for n in wanted}
    floor = 0.0
    for seed in SEEDS:
        progress.say(f"{row.label}, seed {seed}")
        started = time.monotonic()
        key = bytes([seed]) * 32
        bundle = fit_bundle(
            data, roles, method="exact", config=row.config, seed=seed, key=key, progress=progress
        )
        released = release_dataset(bundle, data)
        seconds = time.monotonic() - started
        assert released.certificate is not None
        claim = released.certificate.attributes[secret].release
        assert claim is not None
        assert claim.plan is not None
        floor = claim.floor
        figures = {
            "codes": float(released.certificate.codes),
            "one": claim.plan.one,
            "linked20": claim.plan.linked["20"],
            "linked50": claim.plan.linked["50"],
            "half": claim.measured["0.5"],
            "others": claim.measured["all-but-one"],
            "table": claim.one,
            "attack": read_from(released, data.attribute(secret), seed),
            "seconds": seconds,
        }
        for name, value in figures.items():
            found.setdefault(name, []).append(value)
        for name in wanted:
            useful[name].append(read_from(released, data.attribute(name), seed))
    return ExactRow(
        row.label,
        floor,
        useful={n: tuple(v) for n, v in useful.items()},
        **{n: tuple(v) for n, v in found.items()},
    )


def read_from(released: ReleasedDataset, attribute: Attribute, seed: int) -> float:
    """How often a model trained on 70 % of the released rows names the attribute of the others."""
    y = attribute.codes[released.original_rows]
    known = np.flatnonzero(y >= 0)
    order = np.random.default_rng(seed).permutation(known)
    cut = int(0.7 * len(order))
    fitted, tested = order[:cut], order[cut:]
    if released.tabular:
        x, categorical = _matrix(released.table)
        trees = HistGradientBoostingClassifier(
            max_iter=60, categorical_features=categorical, random_state=seed
        )
        return float(trees.fit(x[fitted], y[fitted]).score(x[tested], y[tested]))
    code = np.unique(released.x, axis=0, return_inverse=True)[1].reshape(-1)
    table = np.zeros((int(code.max()) + 1, len(attribute.classes)))
    np.add.at(table, (code[fitted], y[fitted]), 1.0)
    return float((table.argmax(axis=1)[code[tested]] == y[tested]).mean())


def _matrix(table: pa.Table) -> tuple[npt.NDArray[np.float64], list[int]]:
    """Numbers as they are, anything else as category numbers (at most 255), NaN where missing."""
    columns, categorical = [], []
    for i, name in enumerate(table.column_names):
        column = table[name]
        kind = column.type
        if pa.types.is_floating(kind) or pa.types.is_integer(kind):
            values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
            columns.append(np.asarray(values, np.float64))
            continue
        whole = column.combine_chunks().dictionary_encode()
        whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        codes = whole.indices.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if len(whole.dictionary) <= 255:
            categorical.append(i)
        columns.append(np.asarray(codes, np.float64))
    return np.stack(columns, axis=1), categorical
