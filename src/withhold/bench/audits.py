"""Whole audits side by side: of releases that we fit, or of files that others made.

`kind: audits` is the first, `kind: external` the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from withhold.actions.audit import audit as evaluate
from withhold.audit.evidence import Evidence
from withhold.bench.fit_row import fit_row, row_roles, unnamed
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, percent
from withhold.bench.row_cache import recipe_key, row_folder, row_key, write_once
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.methods import Journal
from withhold.records.dataset import Dataset
from withhold.report import write_report

LabelledAudit = tuple[str, str, Callable[[], Evidence]]  # label, key, audit


class AuditsResult(RecipeResult):
    """One audit per row; its evidence and report are in the folder of the row."""

    rows: tuple[tuple[str, Evidence], ...]
    left = 3

    def cells(self) -> Cells:
        """A line for every attribute of every release."""
        found = [a for _, e in self.rows for a in e.attributes.values()]
        sizes = sorted({int(r) for a in found for r in a.linked})
        repeated = any(a.repeated for a in found)
        header = ["", "attribute", "role", "floor", "original", "ignorant", "informed", "by"]
        header += [f"linked {r}" for r in sizes] + ["repeated"] * repeated + ["bits"]
        lines = []
        for label, evidence in self.rows:
            for name, a in evidence.attributes.items():
                low, high = (percent(end) for end in a.informed.ci)
                tiers = [a.linked.get(str(r)) for r in sizes] + [a.repeated] * repeated
                lines.append(
                    [
                        label,
                        name,
                        a.role,
                        percent(a.floor),
                        percent(a.original.accuracy),
                        percent(a.ignorant.accuracy if a.ignorant else None),
                        f"{percent(a.informed.accuracy)} ({low}–{high})",
                        a.informed.attacker,
                        *(percent(tier.accuracy if tier else None) for tier in tiers),
                        f"{a.leakage_bits:.2f}",
                    ]
                )
        return header, lines

    @property
    def legend(self) -> str:
        """What the columns mean."""
        took = sum(sum(e.seconds.values()) for _, e in self.rows) / max(len(self.rows), 1)
        return (
            "Accuracy in % on the test part, with the 95 % interval of the informed tier. ignorant:"
            " a model of the originals. informed: the attacker of the ladder that is best on the"
            " validation part, retrained on the release. linked r: the attacker knows that r"
            " records are of one person. bits: usable information about the attribute. An audit"
            f" took {took:.0f} s on average."
        )

    def to_dict(self) -> dict[str, Any]:
        """All evidence, for a program."""
        rows = [{"label": label, "audit": e.to_dict()} for label, e in self.rows]
        return {"recipe": self.recipe.name, "title": self.recipe.title, "rows": rows}


def run_audits(recipe: Recipe, output: Path, *, progress: Progress) -> AuditsResult:
    """Audit every release, or resume after an interruption."""
    jobs = _external if recipe.kind == "external" else _fitted
    rows = []
    for label, key, audit in jobs(recipe, output, progress):
        saved = row_folder(output, label) / "audit.json"
        write_once(saved, key, partial(_write_audit, label, saved, audit, progress))
        rows.append((label, Evidence.from_json(saved)))
    return AuditsResult(recipe, tuple(rows)).write(output)


def _write_audit(
    label: str, target: Path, audit: Callable[[], Evidence], progress: Progress
) -> None:
    progress.say(f"row: {label}")
    evidence = audit()
    target.parent.mkdir(parents=True, exist_ok=True)
    evidence.to_json(target)
    write_report(evidence, target.with_name("report.html"), title=label)


def _fitted(recipe: Recipe, output: Path, progress: Progress) -> Iterator[LabelledAudit]:
    """Each row of the recipe: fit, transform, audit."""
    data = public(recipe.data, progress=progress)
    journal = Journal(output.parent / "journal")
    digest = data.digest()
    for row in recipe.rows:
        audit = partial(_fit_and_audit, recipe, row, data, journal, progress)
        yield row.label, recipe_key(recipe, row, digest), audit


def _fit_and_audit(
    recipe: Recipe, row: RecipeRow, data: Dataset, journal: Journal, progress: Progress
) -> Evidence:
    roles = row_roles(recipe, row)
    draws = []
    for i in range(row.draws if row.method is not None else 0):
        bundle, _ = fit_row(recipe, row, data, roles, progress, journal=journal, draw=i)
        draws.append(bundle.release(data, same_order=True))
    return evaluate(
        data,
        draws[0] if draws else None,
        roles.suppress,
        roles.preserve,
        hidden=unnamed(recipe, roles),
        again=draws[1:],
        same_order=True,
        order_counts=False,
        seed=recipe.seed,
        progress=progress,
    )


def _external(recipe: Recipe, output: Path, progress: Progress) -> Iterator[LabelledAudit]:
    """Each pair of files: read both, match their records, audit."""
    from withhold.bench.external import External, make_external

    def audit(one: External) -> Evidence:
        original = Dataset.read(one.original, features=one.features, progress=progress)
        release = Dataset.read(one.release, features=one.features, progress=progress)
        return evaluate(
            original, release, one.suppress, one.preserve, id=one.key, hidden=(), progress=progress
        )

    for one in make_external(output / "files", progress=progress):
        yield one.label, row_key([one.label, one.note]), partial(audit, one)
