"""Releases side by side under the whole audit: `kind: audits` fits them, `kind: external` finds
them in files that somebody else made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import withhold
from withhold.actions.audit import audit as evaluate
from withhold.actions.fit import fit_bundle
from withhold.audit.attack_plan import FULL
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evidence import Evidence
from withhold.bench.kept import row_folder
from withhold.bench.keys import bench_key
from withhold.bench.recipe import Recipe, Row
from withhold.bench.result import markdown_table, percent, print_cells
from withhold.core.atomic import write_bytes
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.methods import Journal
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.report import write_report


@dataclass(frozen=True)
class AuditsResult:
    """One audit a row, each with its evidence and report in a folder of its own."""

    recipe: Recipe
    rows: tuple[tuple[str, Evidence], ...]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines as text: a line for every attribute of every release."""
        sizes = sorted(
            {int(r) for _, e in self.rows for a in e.attributes.values() for r in a.linked}
        )
        repeated = any(a.repeated for _, e in self.rows for a in e.attributes.values())
        header = ["", "attribute", "role", "floor", "original", "ignorant", "informed", "by"]
        header += [f"linked {r}" for r in sizes] + (["repeated"] if repeated else [])
        header += ["bits"]
        lines = []
        for label, evidence in self.rows:
            for name, a in evidence.attributes.items():
                line = [label, name, a.role, *_figures(a)]
                line += [
                    percent(a.linked[str(r)].accuracy if str(r) in a.linked else None)
                    for r in sizes
                ]
                if repeated:
                    line.append(percent(a.repeated.accuracy if a.repeated else None))
                lines.append([*line, f"{a.leakage_bits:.2f}"])
        return header, lines

    def to_markdown(self) -> str:
        """The table as Markdown, headed by its command."""
        header, lines = self.cells()
        body = markdown_table(header, lines, left=3)
        took = sum(sum(e.seconds.values()) for _, e in self.rows) / max(len(self.rows), 1)
        return (
            f"### {self.recipe.title}\n\n`withhold bench {self.recipe.name}`\n\n{body}\n\n{LEGEND}"
            f" An audit took {took:.0f} s on average.\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        rows = [{"label": label, "audit": e.to_dict()} for label, e in self.rows]
        return {"recipe": self.recipe.name, "title": self.recipe.title, "rows": rows}

    def print(self) -> None:
        """The table in a terminal."""
        print_cells(self.recipe.title, *self.cells(), LEGEND, left=3)


LEGEND = (
    "Accuracy in %, test part, with the 95 % interval of the informed tier. ignorant: a model of"
    " the originals; informed: the best on val of the ladder retrained on the release; linked r:"
    " knowing that r records are of one person; bits: usable information on the attribute."
)


def run_audits(recipe: Recipe, output: Path, *, progress: Progress) -> AuditsResult:
    """Audit every release, or go on where it was interrupted; results go to `output`."""
    rows = []
    found = (
        _external(output, progress)
        if recipe.kind == "external"
        else _fitted(recipe, output, progress)
    )
    for label, key, make in found:
        folder = row_folder(output, label)
        saved = folder / "audit.json"
        if not (
            saved.exists() and (folder / "key").exists() and (folder / "key").read_text() == key
        ):
            progress.say(f"row: {label}")
            evidence = make()
            folder.mkdir(parents=True, exist_ok=True)
            evidence.to_json(saved)
            write_report(evidence, folder / "report.html", title=label)
            write_bytes(folder / "key", key.encode())
        rows.append((label, Evidence.from_json(saved)))
    result = AuditsResult(recipe, tuple(rows))
    write_bytes(output / "results.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def _fitted(recipe: Recipe, output: Path, progress: Progress) -> Iterator[tuple[str, str, Any]]:
    """Each row of the recipe: fit, transform, audit."""
    data = public(recipe.data, progress=progress)
    journal = Journal(output.parent / "journal")
    digest = data.digest()
    for row in recipe.rows:
        text = [row.model_dump(mode="json"), recipe.config, recipe.seed, recipe.measure, digest]
        yield (
            row.label,
            row_key(text),
            partial(_fit_and_audit, recipe, row, data, journal, progress),
        )


def _fit_and_audit(
    recipe: Recipe, row: Row, data: Dataset, journal: Journal, progress: Progress
) -> Evidence:
    from withhold.bench.run import row_config

    roles = Roles.of(row.suppress or recipe.suppress or recipe.measure[0], row.preserve)
    release, again = None, []
    if row.method is not None:
        draws = []
        for i in range(row.draws):
            bundle = fit_bundle(
                data,
                roles,
                method=row.method,
                config=row_config(recipe, row),
                seed=recipe.seed + i,
                key=bench_key(recipe.seed + i),  # another key: another draw of every record
                progress=progress,
                journal=journal,
            )
            draws.append(bundle.release(data, same_order=True))
        release, again = draws[0], draws[1:]
    return evaluate(
        data,
        release,
        roles.suppress,
        roles.preserve,
        hidden=[name for name in recipe.measure if name not in roles.named],
        again=again,
        same_order=True,
        order_counts=False,
        seed=recipe.seed,
        progress=progress,
    )


def _external(output: Path, progress: Progress) -> Iterator[tuple[str, str, Any]]:
    """Each pair of files: read, match, audit. The original alone is not audited twice."""
    from withhold.bench.external import External, make_external

    def audit(one: External) -> Evidence:
        original = Dataset.read(one.original, features=one.features, progress=progress)
        release = Dataset.read(one.release, features=one.features, progress=progress)
        return evaluate(
            original, release, one.suppress, one.preserve, id=one.key, hidden=(), progress=progress
        )

    for one in make_external(output / "files", progress=progress):
        yield one.label, row_key([one.label, one.note]), partial(audit, one)


def _figures(a: AttributeEvidence) -> list[str]:
    low, high = a.informed.ci
    return [
        percent(a.floor),
        percent(a.original.accuracy),
        percent(a.ignorant.accuracy if a.ignorant else None),
        f"{100 * a.informed.accuracy:.1f} ({100 * low:.1f}–{100 * high:.1f})",
        a.informed.attacker,
    ]


def row_key(facts: Any) -> str:
    """What decides a row: where it is the same, what was found stands."""
    text = json.dumps([facts, FULL, withhold.__version__], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
