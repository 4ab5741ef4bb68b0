"""Releases beside their certificates: `kind: certified`.

Every row is fitted on the training part and attacked twice with the whole ladder: by attackers
trained on the release of the fitted records, and by attackers trained on the release of records
that the fit never saw. A channel may be balanced on the records it was fitted on and not on others,
so the second can read more; the table shows the worse of the two.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from withhold.actions.audit import audit as evaluate
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evidence import Evidence
from withhold.bench.audits import row_key
from withhold.bench.held_out import features_alone, held_out
from withhold.bench.kept import keep_row, row_folder
from withhold.bench.recipe import Recipe, Row
from withhold.bench.result import at_most, markdown_table, percent, print_cells
from withhold.bench.run import timed_fit
from withhold.bench.tradeoff import FEW
from withhold.core.atomic import write_bytes
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.methods import Channel
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.report import write_report

LINKED = "20"


@dataclass(frozen=True)
class Certified:
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


@dataclass(frozen=True)
class CertifiedResult:
    """Every row of a recipe."""

    recipe: Recipe
    rows: tuple[Certified, ...]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines as text: a line for every suppressed attribute of every release."""
        useful = list(dict.fromkeys(name for row in self.rows for name in row.utility))
        header = ["", "suppressed", "floor", "attack", f"linked {LINKED}", "certificate"]
        header += [*useful, "codes", "fit s"]
        lines = []
        for row in self.rows:
            for name in row.attack:
                lines.append(
                    [
                        row.label,
                        name,
                        percent(row.floor.get(name)),
                        percent(row.attack.get(name)),
                        percent(row.linked.get(name)),
                        at_most(row.bound.get(name)),
                        *(percent(row.utility.get(n)) for n in useful),
                        "–" if row.codes is None else f"{row.codes}",
                        f"{row.seconds:.0f}",
                    ]
                )
        return header, lines

    def to_markdown(self) -> str:
        """The table as Markdown, headed by its command."""
        header, lines = self.cells()
        body = markdown_table(header, lines, left=2)
        name = self.recipe.name
        return f"### {self.recipe.title}\n\n`withhold bench {name}`\n\n{body}\n\n{LEGEND}\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        rows = [asdict(row) for row in self.rows]
        return {"recipe": self.recipe.name, "title": self.recipe.title, "rows": rows}

    def print(self) -> None:
        """The table in a terminal."""
        print_cells(self.recipe.title, *self.cells(), LEGEND, left=2)


LEGEND = (
    "In %, test part. attack: the best retrained attacker of one record, the worse of two:"
    " trained on the release of the fitted records, and on that of records never fitted."
    f" linked {LINKED}: the same from {LINKED} records of one class. certificate: no attacker reads"
    " more from one record, at 95 % confidence. The other columns: what a model retrained on the"
    " release reads of the useful attributes. fit s: seconds of the fit."
)


def run_certified(recipe: Recipe, output: Path, *, progress: Progress) -> CertifiedResult:
    """Fit, certify and attack every row, or go on where it was interrupted."""
    data = public(recipe.data, progress=progress)
    digest = data.digest()
    rows = []
    for row in recipe.rows:
        folder = row_folder(output, row.label)
        key = row_key([row.model_dump(mode="json"), recipe.config, recipe.seed, digest])
        make = partial(_row, recipe, row, data, folder, progress)
        rows.append(Certified(**keep_row(folder, key, make)))
    result = CertifiedResult(recipe, tuple(rows))
    write_bytes(output / "results.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def _row(
    recipe: Recipe, row: Row, data: Dataset, folder: Path, progress: Progress
) -> dict[str, Any]:
    progress.say(f"row: {row.label}")
    roles = Roles.of(row.suppress or recipe.suppress or recipe.measure[0], row.preserve)
    hidden = [name for name in recipe.measure if name not in roles.named]
    bundle, seconds = timed_fit(recipe, row, data, roles, progress)
    # Read inside the house: every label stays, in the order of the data.
    release = bundle.release(data, keep=data.table.column_names, keep_labels=True, same_order=True)
    both: list[Evidence] = []
    for name, original, released in (
        ("fitted", data, release),
        ("held-out", *held_out(data, release, roles)),
    ):
        progress.say(f"{row.label}: attackers of the {name} records")
        strong = recipe.ladder == "strong"
        # Alone, the release is read as data of its own: no models of the originals are made.
        evidence = evaluate(
            released if strong else original,
            None if strong else features_alone(released),
            roles.suppress,
            roles.preserve,
            hidden=hidden if name == "fitted" else (),
            attackers=FEW if strong else None,
            same_order=not strong,
            order_counts=False,
            seed=recipe.seed,
            progress=progress,
        )
        folder.mkdir(parents=True, exist_ok=True)
        evidence.to_json(folder / f"audit-{name}.json")
        write_report(evidence, folder / f"report-{name}.html", title=f"{row.label}, {name} records")
        both.append(evidence)
    claims = (bundle.certificate or {}).get("attributes", {})
    fitted, held = both
    found = Certified(
        row.label,
        roles.suppress,
        {n: fitted.attributes[n].floor for n in roles.suppress},
        {n: max(_attack(e, n) for e in both) for n in roles.suppress},
        {n: _attack(fitted, n) for n in roles.suppress},
        {n: _attack(held, n) for n in roles.suppress},
        {n: most for n in roles.suppress if (most := _linked(both, n)) is not None},
        {n: claims[n]["bound"] for n in roles.suppress if n in claims},
        {n: claims[n]["plug_in"] for n in roles.suppress if n in claims},
        {n: a.informed.accuracy for n, a in fitted.attributes.items() if n not in roles.suppress},
        len(bundle.modifier.codes) if isinstance(bundle.modifier, Channel) else None,
        round(seconds, 1),
    )
    return asdict(found)


def _attack(evidence: Evidence, name: str) -> float:
    return evidence.attributes[name].informed.accuracy


def _linked(both: list[Evidence], name: str) -> float | None:
    found: list[AttributeEvidence] = [e.attributes[name] for e in both]
    read = [a.linked[LINKED].accuracy for a in found if LINKED in a.linked]
    return max(read) if read else None
