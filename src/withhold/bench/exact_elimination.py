"""Elimination on exact releases: what known labels of other rows tell: `kind: elimination-exact`.

Every row of a recipe is a number of codes and a softness. A record with a code is read by whoever
knows the labels of a share of the other rows: the certificate bounds this for attackers who also
know the table of classes by codes, and measures attacks that do not. The codes are drawn as a
release draws them; of a table, rows are made from codes, so its attackers are given the codes.

A row that is `rounded` shows why rows draw by themselves. Balanced rounding gives class s the code
j in floor or ceil of M_sj = sum of W(j | i) over its rows, and no other number. Classes then agree
as nearly as whole rows can, in this very release and not only on average. But then the table of
classes by codes is known to everyone who knows the shares, and elimination reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from withhold.actions.fit import fit_bundle
from withhold.audit.elimination_attack import eliminate
from withhold.bench.exact_releases import SEEDS, Figures, given_records
from withhold.bench.fit_row import row_config, row_roles
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, with_spread
from withhold.bench.row_cache import cached_rows
from withhold.certificate.elimination_bound import ALL_BUT_ONE, SHARES, known_bounds, measured_rates
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.channel import IntArray
from withhold.methods.features.exact import ExactModifier
from withhold.methods.modifier import FloatArray
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import contingency
from withhold.records.table_features import encode_table
from withhold.release.held_back import original_rows, release_places


@dataclass(frozen=True)
class EliminationRow:
    """One number of codes and softness, over the seeds. Fractions; `codes` is a mean."""

    label: str
    floor: float
    codes: float
    bound: dict[str, Figures]  # by share of known labels
    measured: dict[str, Figures]
    audit: Figures  # all other labels known


class EliminationExactResult(RecipeResult):
    """Every row of a recipe."""

    rows: tuple[EliminationRow, ...]

    @property
    def legend(self) -> str:
        """What the columns mean."""
        floor = 100 * self.rows[0].floor
        return (
            f"In %, mean ± standard deviation of {len(SEEDS)} seeds; {self.recipe.suppress} by"
            f" guessing {floor:.1f}. Columns: the share of the labels that the attacker knows. A"
            " cell is bound / attack. The bound is for whoever also knows how often each class drew"
            " each code: exact, and no attacker reads more. With all labels but one it is 100, by"
            " subtraction, unless rows were held back at random; then the attacker does not know"
            " which. The attack does not know that: the certificate's own. audit: the attack"
            " of the audit, with all other labels known, at the best of its groups of codes, chosen"
            " with hindsight. Balanced rounding: each class gets each code as often as its share"
            " says, up to one row; the attacker then knows the table up to one row."
        )

    def cells(self) -> Cells:
        """A line for every row."""
        shares = [*SHARES, ALL_BUT_ONE]
        names = [*(f"{100 * float(s):.0f} % known" for s in SHARES), "all but one"]
        lines = []
        for row in self.rows:
            both = [f"{_mean(row.bound[s])} / {with_spread(row.measured[s])}" for s in shares]
            lines.append([row.label, f"{row.codes:.0f}", *both, with_spread(row.audit)])
        return ["", "codes", *names, "audit"], lines


def run_elimination_exact(
    recipe: Recipe, output: Path, *, progress: Progress
) -> EliminationExactResult:
    """Fit and draw every row with every seed, or resume after an interruption."""
    data = given_records(recipe, output, progress)
    make = partial(_row, recipe, data=data, work=output / "networks", progress=progress)
    rows = cached_rows(recipe, output, data.digest(), EliminationRow, make)
    return EliminationExactResult(recipe, rows).write(output)


def _row(
    recipe: Recipe, row: RecipeRow, *, data: Dataset, work: Path, progress: Progress
) -> EliminationRow:
    roles, config = row_roles(recipe, row), row_config(recipe, row)
    name = roles.suppress[0]
    features = encode_table(data, roles.suppress) if data.tabular else data
    secret = features.attribute(name)
    labels = {n: features.attribute(n) for n in roles.named}
    codes, audit = [], []
    bound: dict[str, list[float]] = {}
    measured: dict[str, list[float]] = {}
    for seed in SEEDS:
        progress.say(f"{row.label}, seed {seed}")
        # Rows that differ only in softness share their networks through the journal.
        bundle = fit_bundle(
            features,
            roles,
            method="exact",
            config=config,
            seed=seed,
            key=bytes([seed]) * 32,
            progress=progress,
            journal=Journal(work / f"seed-{seed}"),
        )
        made = bundle.modifier
        assert isinstance(made, ExactModifier)
        drawn = made.draw(features.x, labels)
        if row.rounded:
            plan = made.probabilities(features.x, labels)
            drawn = balanced_rounding(plan, secret.codes, np.random.default_rng([seed, 0xBA]))
        used, place = np.unique(drawn, return_inverse=True)
        leaves = _leaving(len(features), row.hold_back, seed)
        whole = contingency(secret.codes, place.reshape(-1)).astype(np.float64)
        table = np.zeros_like(whole)
        there = leaves[secret.codes[leaves] >= 0]
        np.add.at(table, (secret.codes[there], place.reshape(-1)[there]), 1)
        codes.append(len(used))
        for share, value in known_bounds(whole, leave=len(leaves)).items():
            bound.setdefault(share, []).append(value)
        for share, value in measured_rates(table, made.codes[used]).items():
            measured.setdefault(share, []).append(value)
        audit.append(_audited(made.codes[drawn[leaves]], secret.rows(leaves)))
    return EliminationRow(
        row.label,
        secret.majority,
        float(np.mean(codes)),
        {s: tuple(v) for s, v in bound.items()},
        {s: tuple(v) for s, v in measured.items()},
        tuple(audit),
    )


def balanced_rounding(w: FloatArray, s: IntArray, rng: np.random.Generator) -> IntArray:
    """Codes (n,) of which each class s (n,) has floor or ceil of the sum of its plan w (n, N).

    The numbers are rounded systematically: with C_j the sum of the first j shares and one uniform u
    for a class, code j gets floor(C_j + u) - floor(C_j-1 + u) rows. Which row of a class gets which
    code is drawn at random: elimination reads the table of classes by codes alone.
    """
    drawn = np.empty(len(w), np.int64)
    for c in np.unique(s):
        rows = rng.permutation(np.flatnonzero(s == c))
        share = w[rows].sum(axis=0, dtype=np.float64)
        # Up to the rounding of float32, whole shares stay whole and all rows get a code.
        total = np.round(np.cumsum(share) * (len(rows) / share.sum()), 6)
        number = np.diff(np.floor(total + rng.random()), prepend=0.0).astype(np.int64)
        drawn[rows] = np.repeat(np.arange(w.shape[1]), number)[: len(rows)]
    return drawn


def _leaving(n: int, hold_back: float, seed: int) -> IntArray:
    """The rows that leave: a random share, as a key would draw them."""
    shuffled = np.random.default_rng([seed, 0x8B]).permutation(n)
    return original_rows(release_places(shuffled, hold_back=hold_back, same_order=False))


def _audited(x: FloatArray, secret: Attribute) -> float:
    """The audit's attack at the level (codes, or groups of codes) that is right most often.

    The audit corrects for the choice among levels; here it is left in, in favour of the attacker.
    """
    known = np.flatnonzero(secret.codes >= 0)
    levels = eliminate(x[known].astype(np.float32), secret.rows(known))
    return max([secret.majority, *(float(right.mean()) for right, _ in levels)])


def _mean(figures: Figures) -> str:
    return f"{100 * np.mean(figures):.1f}"
