"""A mixed table released by several tools, measured alike: `kind: table-rivals`.

The secret is read by the best of three models; other columns by trees, paired with the originals.
A task is learned from the released rows alone and tested on originals that were never released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from withhold.bench.best_reader import boosted, matrix, read_table
from withhold.bench.exact_releases import SEEDS, Figures
from withhold.bench.fit_row import row_config
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, with_spread
from withhold.bench.rival_tables import TableCase, TableRelease, release_table
from withhold.bench.row_cache import cached_rows
from withhold.bench.table_quality import table_quality
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.records.attribute import encode


@dataclass(frozen=True)
class RivalRow:
    """One tool, over the seeds. Fractions; empty where there is no such figure."""

    label: str
    floor: float
    proved: Figures
    attack: Figures
    read: dict[str, Figures]
    task: Figures
    shapes: Figures
    pairs: Figures


class RivalResult(RecipeResult):
    """Every row of a recipe."""

    rows: tuple[RivalRow, ...]

    @property
    def legend(self) -> str:
        """What the columns mean."""
        floors = ", ".join(dict.fromkeys(f"{100 * row.floor:.1f}" for row in self.rows))
        return (
            f"In %, mean ± standard deviation of {len(SEEDS)} seeds. proved: no attacker who does"
            " not know the draws reads more from one row. attack: the best of trees, a linear model"
            " and a network, chosen on 10 % of the released rows, tested on 30 %; by guessing"
            f" {floors}. The next columns: read by trees from the released rows (no pairing: its"
            " rows are nobody's, and the attack is on the secret that was made with each row and"
            f" did not leave). {self.recipe.task}, trained on the release: trees that saw only"
            " released rows, tested on originals that were not released. shapes, pairs: SDMetrics'"
            " column shapes and column pair trends; –: the release has other columns."
        )

    def cells(self) -> Cells:
        """A line for every tool."""
        names = [n for n in self.recipe.measure if n != self.recipe.suppress]
        header = ["", "proved", f"attack: {self.recipe.suppress}", *names]
        header += [f"{self.recipe.task}, trained on the release", "shapes", "pairs"]
        lines = []
        for row in self.rows:
            read = [with_spread(row.read[n]) if n in row.read else "no pairing" for n in names]
            last = (row.task, row.shapes, row.pairs)
            lines.append(
                [row.label, _shown(row.proved), _shown(row.attack), *read, *map(_shown, last)]
            )
        return header, lines


def run_table_rivals(recipe: Recipe, output: Path, *, progress: Progress) -> RivalResult:
    """Release with every tool and seed, or resume after an interruption."""
    data = public(recipe.data, progress=progress)
    test = public(recipe.test_data, progress=progress)
    case = TableCase(data, test, recipe.suppress, recipe.task, {}, progress)
    make = partial(_row, recipe, case=case)
    digests = [data.digest(), test.digest()]
    rows = cached_rows(recipe, output, digests, RivalRow, make)
    return RivalResult(recipe, rows).write(output)


def _row(recipe: Recipe, row: RecipeRow, *, case: TableCase) -> RivalRow:
    own = TableCase(
        case.data, case.test, case.secret, case.label, row_config(recipe, row), case.progress
    )
    wanted = [n for n in recipe.measure if n != case.secret]
    found: dict[str, list[float]] = {n: [] for n in ("proved", "attack", "task", "shapes", "pairs")}
    read: dict[str, list[float]] = {}
    for seed in SEEDS:
        case.progress.say(f"{row.label}, seed {seed}")
        made = release_table(own, row.tool, seed=seed)
        if made.bound is not None:
            found["proved"].append(made.bound)
        found["attack"].append(read_table(made.table, made.secret, seed=seed, trees_only=False))
        for name in wanted:
            if made.rows is None:
                break
            of = case.data.attribute(name).rows(made.rows)
            read.setdefault(name, []).append(read_table(made.table, of, seed=seed, trees_only=True))
        found["task"].append(learned_task(made, case, seed=seed))
        if made.alike:
            columns = [c for c in case.data.table.column_names if c != case.secret]
            shapes, pairs = table_quality(case.data.table.select(columns), made.table)
            found["shapes"].append(shapes)
            found["pairs"].append(pairs)
    return RivalRow(
        row.label,
        case.data.attribute(case.secret).majority,
        read={n: tuple(v) for n, v in read.items()},
        **{n: tuple(v) for n, v in found.items()},
    )


def learned_task(release: TableRelease, case: TableCase, *, seed: int) -> float:
    """Trees trained on the released rows and their released label, right on original rows.

    Neither sees the secret.
    """
    label, gone = case.label, [c for c in (case.secret,) if c in release.table.column_names]
    train = release.table.drop_columns([*gone, label])
    tested = release.test.select(train.column_names)
    both = pa.concat_tables([train, tested], promote_options="permissive")
    x, categories = matrix(both.unify_dictionaries())
    names = pa.concat_tables([release.table.select([label]), release.test.select([label])])
    codes = encode(label, names[label], "the release and the originals").codes
    first = np.arange(len(train))
    second = np.arange(len(train), len(both))
    fitted, asked = (rows[codes[rows] >= 0] for rows in (first, second))
    guess = boosted(x, codes, categories, fitted, asked, seed=seed)
    return float((guess == codes[asked]).mean())


def _shown(figures: Figures) -> str:
    return with_spread(figures) if figures else "–"
