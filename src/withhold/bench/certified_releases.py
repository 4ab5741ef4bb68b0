"""Releases beside their certificates: `kind: certified`.

Every row is fitted on the training part and attacked twice with the whole ladder: by attackers
trained on the release of the fitted records, and by attackers trained on the release of records
that the fit never saw. A channel may be balanced on the fitted records and not on others, so the
second kind can read more. The table shows the worse of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from withhold.actions.audit import audit as evaluate
from withhold.audit.evidence import Evidence
from withhold.bench.fit_row import (
    bundle_claims,
    code_count,
    features_alone,
    fit_row,
    held_out,
    labelled_release,
    row_roles,
    unnamed,
)
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, at_most, percent
from withhold.bench.row_cache import cached_rows, row_folder
from withhold.bench.tradeoff import FEW
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.records.dataset import Dataset
from withhold.report import write_report

LINKED = "20"


@dataclass(frozen=True)
class CertifiedRow:
    """One release: what attackers found, and what is proved. Accuracies are fractions."""

    label: str
    suppress: tuple[str, ...]
    floor: dict[str, float]
    attack: dict[str, float]
    attack_fitted: dict[str, float]
    attack_held_out: dict[str, float]
    linked: dict[str, float]
    bound: dict[str, float]
    plug_in: dict[str, float]
    utility: dict[str, float]
    codes: int | None
    seconds: float


class CertifiedResult(RecipeResult):
    """Every row of a recipe."""

    rows: tuple[CertifiedRow, ...]
    left = 2
    legend = (
        "In %, test part. attack: the best retrained attacker of one record. It is the worse of"
        " two: one trained on the release of the fitted records, one on the release of records"
        f" that were never fitted. linked {LINKED}: the same from {LINKED} records of one class."
        " certificate: no attacker reads more from one record, at 95 % confidence. The other"
        " columns: what a model retrained on the release reads of the useful attributes. fit s:"
        " seconds of the fit."
    )

    def cells(self) -> Cells:
        """A line for every suppressed attribute of every release."""
        useful = list(dict.fromkeys(name for row in self.rows for name in row.utility))
        header = ["", "suppressed", "floor", "attack", f"linked {LINKED}", "certificate"]
        lines = [
            [
                row.label,
                name,
                *(percent(of.get(name)) for of in (row.floor, row.attack, row.linked)),
                at_most(row.bound.get(name)),
                *(percent(row.utility.get(n)) for n in useful),
                "–" if row.codes is None else f"{row.codes}",
                f"{row.seconds:.0f}",
            ]
            for row in self.rows
            for name in row.attack
        ]
        return [*header, *useful, "codes", "fit s"], lines


def run_certified(recipe: Recipe, output: Path, *, progress: Progress) -> CertifiedResult:
    """Fit, certify and attack every row, or resume after an interruption."""
    data = public(recipe.data, progress=progress)
    make = partial(_row, recipe, data=data, output=output, progress=progress)
    rows = cached_rows(recipe, output, data.digest(), CertifiedRow, make)
    return CertifiedResult(recipe, rows).write(output)


def _row(
    recipe: Recipe, row: RecipeRow, *, data: Dataset, output: Path, progress: Progress
) -> CertifiedRow:
    progress.say(f"row: {row.label}")
    folder, roles = row_folder(output, row.label), row_roles(recipe, row)
    folder.mkdir(parents=True, exist_ok=True)
    bundle, seconds = fit_row(recipe, row, data, roles, progress)
    release = labelled_release(bundle, data)
    both: list[Evidence] = []
    for name, original, released in (
        ("fitted", data, release),
        ("held-out", *held_out(data, release, roles)),
    ):
        progress.say(f"{row.label}: attackers of the {name} records")
        strong = recipe.ladder == "strong"
        # With the ladder `strong` the release is audited alone: no models of the originals are
        # made.
        evidence = evaluate(
            released if strong else original,
            None if strong else features_alone(released),
            roles.suppress,
            roles.preserve,
            hidden=unnamed(recipe, roles) if name == "fitted" else (),
            attackers=FEW if strong else None,
            same_order=not strong,
            order_counts=False,
            seed=recipe.seed,
            progress=progress,
        )
        evidence.to_json(folder / f"audit-{name}.json")
        write_report(evidence, folder / f"report-{name}.html", title=f"{row.label}, {name} records")
        both.append(evidence)
    names, claims = roles.suppress, bundle_claims(bundle)
    fitted, held = ({n: e.attributes[n].informed.accuracy for n in names} for e in both)
    linked = {
        n: [
            e.attributes[n].linked[LINKED].accuracy
            for e in both
            if LINKED in e.attributes[n].linked
        ]
        for n in names
    }
    found = both[0].attributes
    return CertifiedRow(
        row.label,
        names,
        {n: found[n].floor for n in names},
        {n: max(fitted[n], held[n]) for n in names},
        fitted,
        held,
        {n: max(read) for n, read in linked.items() if read},
        {n: claims[n]["bound"] for n in names if n in claims},
        {n: claims[n]["plug_in"] for n in names if n in claims},
        {n: a.informed.accuracy for n, a in found.items() if n not in names},
        code_count(bundle),
        round(seconds, 1),
    )
