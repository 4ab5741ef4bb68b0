"""Releases beside their certificates: `kind: certified`.

Every row is fitted on the training part and attacked twice with the whole ladder: by attackers
trained on the release of the fitted records, and by attackers trained on the release of records
that the fit never saw. A channel may be balanced on the records it was fitted on and not on others,
so the second can read more; the table shows the worse of the two.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from withhold.atomic import write_bytes
from withhold.audit.evaluate import evaluate
from withhold.audit.evidence import AttributeEvidence, Evidence
from withhold.bench.audits import row_key
from withhold.bench.recipe import Recipe, Row
from withhold.bench.result import print_cells
from withhold.bench.run import row_config
from withhold.data.public import public
from withhold.dataset import Dataset
from withhold.fitting import fit_bundle
from withhold.methods import Channel, Journal
from withhold.progress import Progress
from withhold.roles import Roles

LINKED = "20"
# Attackers learn from three fifths of the records that the fit never saw.
HELD_OUT = (0.5, 0.1, 0.4)


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
        useful = [n for n in self.recipe.measure if any(n in r.utility for r in self.rows)]
        header = ["", "suppressed", "floor", "attack", f"linked {LINKED}", "certificate"]
        header += [*useful, "codes", "fit s"]
        lines = []
        for row in self.rows:
            for name in row.attack:
                lines.append(
                    [
                        row.label,
                        name,
                        _percent(row.floor.get(name)),
                        _percent(row.attack.get(name)),
                        _percent(row.linked.get(name)),
                        _percent(row.bound.get(name)),
                        *(_percent(row.utility.get(n)) for n in useful),
                        "–" if row.codes is None else f"{row.codes}",
                        f"{row.seconds:.0f}",
                    ]
                )
        return header, lines

    def to_markdown(self) -> str:
        """The table as Markdown, headed by its command."""
        header, lines = self.cells()
        rule = ["---"] * 2 + ["---:"] * (len(header) - 2)
        body = "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])
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
    "In %, test part. attack: the best of the retrained ladder from one record, the worse of two:"
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
        folder = output / re.sub(r"[^a-z0-9]+", "-", row.label.lower()).strip("-")
        key = row_key([row.model_dump(mode="json"), recipe.config, recipe.seed, digest])
        if not (_read(folder / "key") == key and (folder / "row.json").exists()):
            progress.say(f"row: {row.label}")
            found = _row(recipe, row, data, folder, progress)
            write_bytes(folder / "row.json", json.dumps(asdict(found), indent=1).encode() + b"\n")
            write_bytes(folder / "key", key.encode())
        rows.append(Certified(**json.loads((folder / "row.json").read_text())))
    result = CertifiedResult(recipe, tuple(rows))
    write_bytes(output / "results.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def _row(recipe: Recipe, row: Row, data: Dataset, folder: Path, progress: Progress) -> Certified:
    roles = Roles.of(row.suppress or recipe.suppress or recipe.measure[0], row.preserve)
    hidden = [name for name in recipe.measure if name not in roles.named]
    started = time.perf_counter()
    bundle = fit_bundle(
        data,
        roles,
        method=row.method or "identity",
        config=row_config(recipe, row),
        seed=recipe.seed,
        progress=progress,
        journal=Journal(),  # nothing is taken over: the time of the fit is measured
    )
    seconds = time.perf_counter() - started
    release = bundle.release(data, keep_labels=True)
    both = []
    for name, original, released in (
        ("fitted", data, release),
        ("held-out", *_held_out(data, release, roles)),
    ):
        progress.say(f"{row.label}: attackers of the {name} records")
        evidence = evaluate(
            original,
            released,
            roles.suppress,
            roles.preserve,
            hidden=hidden if name == "fitted" else (),
            seed=recipe.seed,
            progress=progress,
        )
        folder.mkdir(parents=True, exist_ok=True)
        evidence.to_json(folder / f"audit-{name}.json")
        evidence.to_html(folder / f"report-{name}.html", title=f"{row.label}, {name} records")
        both.append(evidence)
    claims = (bundle.certificate or {}).get("attributes", {})
    fitted, held = both
    return Certified(
        row.label,
        roles.suppress,
        {n: fitted.attributes[n].floor for n in roles.suppress},
        {n: max(_attack(e, n) for e in both) for n in roles.suppress},
        {n: _attack(fitted, n) for n in roles.suppress},
        {n: _attack(held, n) for n in roles.suppress},
        {n: most for n in roles.suppress if (most := _linked(both, n)) is not None},
        {n: claims[n]["bound"] for n in roles.suppress if n in claims},
        {n: claims[n]["plug_in"] for n in roles.suppress if n in claims},
        {
            n: a.informed.accuracy
            for n, a in fitted.attributes.items()
            if n in recipe.measure and n not in roles.suppress
        },
        len(bundle.modifier.codes) if isinstance(bundle.modifier, Channel) else None,
        round(seconds, 1),
    )


def _held_out(data: Dataset, release: Dataset, roles: Roles) -> tuple[Dataset, Dataset]:
    """The test part and its release, divided anew for attackers that learn from it."""
    split = data.part("test").with_split(HELD_OUT, stratify=roles.suppress[:1], grouped=False)
    return split, release.part("test").with_column("split", split.table["split"])


def _attack(evidence: Evidence, name: str) -> float:
    return evidence.attributes[name].informed.accuracy


def _linked(both: list[Evidence], name: str) -> float | None:
    found: list[AttributeEvidence] = [e.attributes[name] for e in both]
    read = [a.linked[LINKED].accuracy for a in found if LINKED in a.linked]
    return max(read) if read else None


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None
