"""The audit's table in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from withhold.audit.evidence import AttributeEvidence, Evidence


def print_table(evidence: Evidence, *, console: Console | None = None, title: str = "") -> None:
    """Roles, and accuracies of the ignorant and the informed attacker side by side."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = console or Console()
    table = Table(title=escape(title) or None, title_justify="left")
    table.add_column("attribute")
    table.add_column("role")
    table.add_column("classes", justify="right")
    table.add_column("floor", justify="right")
    table.add_column("original", justify="right")
    table.add_column("release,\nfrozen model", justify="right")
    table.add_column("release,\nretrained", justify="right")
    for name, a in evidence.attributes.items():
        frozen = "–" if a.ignorant is None else f"{100 * a.ignorant.accuracy:.1f}"
        table.add_row(
            escape(name),
            a.role,
            str(a.classes),
            f"{100 * a.floor:.1f}",
            f"{100 * a.original.accuracy:.1f}",
            frozen,
            f"{100 * a.informed.accuracy:.1f}",
            style=_style(a),
        )
    console.print(table)
    console.print(
        "accuracy in % on held-out records"
        "\nfrozen model: trained on the originals, the figure that papers report"
        "\nretrained: trained on the release, which is what an attacker does",
        style="dim",
        highlight=False,
    )
    console.print(f"verdict: {evidence.verdict}", highlight=False, markup=False, soft_wrap=True)


def _style(a: AttributeEvidence) -> Any:
    if a.role != "suppress":
        return None
    return "bold red" if a.readable else "bold green"
