"""`withhold inspect`: what is in a dataset, and what can be had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from withhold.cli.options import (
    Data,
    Exclude,
    Features,
    Group,
    Json,
    MultiLabel,
    Preserve,
    Quiet,
    Suppress,
    choose_progress,
    print_json,
    reading,
)

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset
    from withhold.records.feasibility import Feasibility


def inspect(
    data: Data,
    suppress: Suppress = "",
    preserve: Preserve = "",
    features: Features = "x",
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """List attributes, classes, missing labels and groups; print entropies, floors and ceilings.

    A floor is what guessing a suppressed attribute from the preserved labels gets; a ceiling is
    what can be kept of a preserved one.
    """
    from withhold.records.feasibility import feasibility
    from withhold.records.roles import Roles

    how = reading(features, group, exclude, multilabel)
    dataset = how.read(data, choose_progress(quiet))
    roles = Roles((), ())
    if suppress or preserve:
        roles = Roles.of(suppress, preserve)
        roles.check(dataset)
    found = feasibility(dataset, roles)
    if as_json:
        print_json(_as_dict(dataset, found))
    else:
        _print(dataset, found)


def _as_dict(dataset: Dataset, found: Feasibility) -> dict[str, Any]:
    from dataclasses import asdict

    from withhold.core.errors import UserError

    attributes: dict[str, Any] = {}
    for name in dataset.attribute_names:
        try:
            a = dataset.attribute(name)
            a.require_label(dataset.name)
        except UserError as error:
            attributes[name] = {"label": False, "why": str(error)}
            continue
        attributes[name] = {
            "label": True,
            "kind": a.kind,
            "classes": len(a.classes),
            "missing": a.missing,
            "majority": a.majority,
            "entropy_bits": found.entropy.get(name),
        }
    groups = dataset.group_codes
    parts = dataset.parts
    return {
        "name": dataset.name,
        "records": len(dataset),
        "features": dataset.dimension,
        "groups": None if groups is None else len(set(groups.tolist())),
        "split": None
        if parts is None
        else {p: int((parts == p).sum()) for p in ("train", "val", "test")},
        "attributes": attributes,
        "feasibility": asdict(found),
    }


def _print(dataset: Dataset, found: Feasibility) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    facts = _as_dict(dataset, found)
    split = facts["split"]
    console.print(
        f"{facts['name']}: {facts['records']:,} records of {facts['features']:,} features"
        + (f", {facts['groups']:,} groups" if facts["groups"] else "")
        + (
            "; " + ", ".join(f"{n:,} {p}" for p, n in split.items() if n)
            if split
            else "; no split column"
        ),
        highlight=False,
        markup=False,
    )
    table = Table("attribute", "kind", "classes", "missing", "majority", "entropy")
    for column in table.columns[2:]:
        column.justify = "right"
    refused = []
    for name, a in facts["attributes"].items():
        if not a["label"]:
            refused.append(a["why"])
            continue
        bits = "" if a["entropy_bits"] is None else f"{a['entropy_bits']:.2f} bits"
        table.add_row(
            escape(name),
            a["kind"],
            f"{a['classes']:,}",
            f"{a['missing']:,}",
            f"{100 * a['majority']:.1f} %",
            bits,
        )
    console.print(table)
    for why in refused:
        console.print(f"not a label: {why}", highlight=False, markup=False, style="dim")
    _print_pairs(console, found)
    for name, value in found.floor.items():
        console.print(
            f"suppress {name}: floor {100 * value:.1f} % (guessing from the preserved labels;"
            f" always naming the commonest class gets {100 * found.majority[name]:.1f} %)",
            highlight=False,
            markup=False,
        )
    for name, value in found.ceiling.items():
        console.print(
            f"preserve {name}: ceiling {100 * value:.1f} % (the most that any release can keep"
            " which tells nothing of the suppressed attributes)",
            highlight=False,
            markup=False,
        )
    for warning in found.warnings:
        console.print(f"warning: {warning}", highlight=False, markup=False, style="yellow")


def _print_pairs(console: Any, found: Feasibility) -> None:
    from rich.markup import escape
    from rich.table import Table

    shared = sorted((p for p in found.pairs if p.shared_bits > 0.05), key=lambda p: -p.shared_bits)
    if not shared:
        return
    table = Table("attributes that tell of each other", "shared", "of", title_justify="left")
    for p in shared[:12]:
        smaller = min(found.entropy[p.one], found.entropy[p.two])
        table.add_row(escape(f"{p.one} – {p.two}"), f"{p.shared_bits:.2f} bits", f"{smaller:.2f}")
    console.print(table)
