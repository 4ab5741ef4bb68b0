"""`withhold inspect`: what is in a dataset, and what a release of it can achieve."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from withhold.cli.options import (
    Data,
    Delimiter,
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
from withhold.core.errors import listing

if TYPE_CHECKING:
    from withhold.actions.inspect import Inspection
    from withhold.actions.inspect_columns import ColumnTells
    from withhold.records.feasibility import Feasibility


def inspect(
    data: Data,
    suppress: Suppress = "",
    preserve: Preserve = "",
    features: Features = None,
    group: Group = None,
    exclude: Exclude = None,
    multilabel: MultiLabel = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show the attributes of a dataset, and what can be suppressed.

    Lists classes, missing labels, groups and entropies. For a mixed table with --suppress, it shows
    how well each other column reveals the suppressed attribute, and all of them together.

    With --suppress and --preserve it also prints floors and ceilings. The floor is the accuracy of
    guessing a suppressed attribute from the preserved labels. The ceiling is the best accuracy for
    a preserved attribute if the release reveals nothing about the suppressed ones.
    """
    from withhold.actions.inspect import InspectRequest
    from withhold.actions.inspect import inspect as inspected

    request = InspectRequest(
        data=data,
        suppress=suppress,
        preserve=preserve,
        reading=reading(features, group, exclude, multilabel, delimiter=delimiter),
    )
    found = inspected(request, choose_progress(quiet))
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)


def _print(found: Inspection) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    say = partial(console.print, highlight=False, markup=False)
    had = found.feasibility
    parts = [f"{n:,} {part}" for part, n in (found.split or {}).items() if n]
    say(
        f"{found.name}: {found.records:,} "
        + ("rows of a mixed table" if found.kind == "table" else "records of")
        + ("" if found.kind == "table" else f" {found.features:,} features")
        + (f", {found.groups:,} groups" if found.groups else "")
        + (f"; {', '.join(parts)}" if parts else "; no split column")
    )
    table = Table("attribute", "kind", "classes", "missing", "majority", "entropy")
    for column in table.columns[2:]:
        column.justify = "right"
    for name, a in found.attributes.items():
        bits = "" if a.entropy_bits is None else f"{a.entropy_bits:.2f} bits"
        numbers = (f"{a.classes:,}", f"{a.missing:,}", f"{100 * a.majority:.1f} %", bits)
        table.add_row(escape(name), a.kind, *numbers)
    console.print(table)
    if found.kind == "table" and found.no_labels:
        names = listing(list(found.no_labels))
        say(
            "no labels, so they cannot be suppressed or preserved as they are (only one value, or"
            f" too many: bin these first): {names}",
            style="dim",
        )
    elif found.no_labels:
        for why in found.no_labels.values():
            say(f"not a label: {why}", style="dim")
    if not found.tells:
        _print_pairs(console, had)
    for name, columns in found.tells.items():
        _print_tells(console, name, columns)
    for name, value in had.floor.items():
        common = f"always naming the most common class gets {100 * had.majority[name]:.1f} %"
        how = f"guessing from the preserved labels; {common}" if had.ceiling else "guessing"
        say(f"suppress {name}: floor {100 * value:.1f} % ({how})")
    for name, value in had.ceiling.items():
        say(
            f"preserve {name}: ceiling {100 * value:.1f} % (the most that a release can keep if"
            " it reveals nothing about the suppressed attributes)"
        )
    for warning in had.warnings:
        say(f"warning: {warning}", style="yellow")


def _print_pairs(console: Any, found: Feasibility) -> None:
    from rich.markup import escape
    from rich.table import Table

    shared = sorted((p for p in found.pairs if p.shared_bits > 0.05), key=lambda p: -p.shared_bits)
    if not shared:
        return
    table = Table("attributes that reveal each other", "shared", "of", title_justify="left")
    for p in shared[:12]:
        smaller = min(found.entropy[p.one], found.entropy[p.two])
        table.add_row(escape(f"{p.one} – {p.two}"), f"{p.shared_bits:.2f} bits", f"{smaller:.2f}")
    console.print(table)


def _print_tells(console: Any, name: str, columns: tuple[ColumnTells, ...]) -> None:
    """What each column reveals, the most telling first."""
    from rich.markup import escape
    from rich.table import Table

    from withhold.actions.inspect_columns import ALL, NO_FEATURES

    guessing = 100 * columns[0].guessing if columns else 0.0
    title = f"'{name}': without any column, {guessing:.1f} % of the guesses are right"
    table = Table(title=escape(title), title_justify="left", title_style="")
    table.add_column("from column")
    table.add_column("kind")
    table.add_column("right", justify="right", no_wrap=True)
    table.add_column("bits", justify="right", no_wrap=True)
    table.add_column("verdict", ratio=1)
    for one in columns:
        right = "" if one.right is None else f"{100 * one.right:.1f} %"
        bits = "" if one.bits is None else f"{one.bits:.3f}"
        style = "" if one.rule == "harmless" else "yellow"
        short = _VERDICTS.get(one.rule, one.verdict)
        table.add_row(escape(one.column), one.kind, right, bits, escape(short), style=style)
    console.print(table)
    apart = [one.column for one in columns if one.kind in NO_FEATURES]
    if apart and columns[0].column == ALL:
        left = escape(listing([repr(name) for name in apart]))
        console.print(f"{ALL}: without free text, ids and the like: {left}", highlight=False)
    telling = [one for one in columns[1:] if one.rule in ("tells", "together", "copy", "jointly")]
    if telling:
        console.print(
            f"Dropping {escape(repr(name))} is not enough: {len(telling)} of {len(columns) - 1}"
            f" other columns reveal{'s' if len(telling) == 1 else ''} it."
            " withhold release balances them.",
            highlight=False,
        )


_VERDICTS = {
    "harmless": "nothing found",
    "tells": "reveals it",
    "together": "reveals it together with others",
    "copy": "a copy of it",
    "jointly": "reveals them jointly",
}
