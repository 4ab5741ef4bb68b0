"""The audit's table in a terminal: who reads what, and what a gate said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from withhold.audit.checked_certificate import CertifiedRows
from withhold.core.terminal import printable
from withhold.report.linked_words import linked_lines
from withhold.report.number_format import NONE, bits, points, span
from withhold.report.with_original_words import with_original_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from withhold.audit.attribute_evidence import AttributeEvidence
    from withhold.audit.evidence import Evidence
from withhold.audit.findings import Column, Linked

_COLOURS = {"readable": "bold red", "floor": "bold green", "blind": "bold yellow"}


def print_table(
    evidence: Evidence, *, console: Console | None = None, title: str = "", legend: bool = True
) -> None:
    """Every attribute: the floor, the original, and what each tier of attacker reads."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console()
    # Rich wraps lines at words for a terminal; a pipe gets one line per message.
    whole = not (console.is_terminal or console.record)
    console.print()
    console.print(_table(evidence, title))
    console.print()
    for line in _legend(evidence) if legend else ():
        console.print(Text(line, style="dim"))
    for line in _wider(evidence):
        console.print(Text(printable(line)), soft_wrap=whole)
    for note in evidence.notes:
        console.print(Text(printable(f"note: {note}")), soft_wrap=whole)
    style = _verdict_style(evidence)
    for place, line in enumerate(evidence.verdicts):
        start = ("" if place else "verdict: ", style)
        console.print(Text.assemble(start, printable(line)), soft_wrap=whole)
    for check in () if evidence.gate is None else evidence.gate.conditions:
        word = ("FAIL", "bold red") if check.failed else ("PASS", "bold green")
        console.print(Text.assemble(word, printable(f" {check.said}")), soft_wrap=whole)


def _table(evidence: Evidence, title: str) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    alone = evidence.release is None
    table = Table(
        title=escape(printable(title)) or None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("name", overflow="fold", min_width=8)
    table.add_column("role", no_wrap=True)
    headers = (
        ["floor", "this data"]
        if alone
        else ["floor", "original", "release\nfrozen", "release\nretrained"]
    )
    sizes = _linked_sizes(evidence)
    headers += [f"linked\n{min(sizes)}" if len(sizes) == 1 else "linked"] if sizes else []
    proved = any(a.certificate for a in evidence.attributes.values())
    # A terminal has room for one of the two.
    headers += ["proved" if proved else "bits"]
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    for name, a in evidence.attributes.items():
        frozen = None if a.ignorant is None else a.ignorant.accuracy
        measured = [] if alone else [points(a.original.accuracy), points(frozen)]
        table.add_row(
            escape(printable(name)),
            "unnamed" if a.role == "hidden" else a.role,
            points(a.floor),
            *measured,
            f"{points(a.informed.accuracy)} ({span(a.informed.ci)})",
            *([_linked_cell(a, several=len(sizes) > 1)] if sizes else []),
            _proved(a) if proved else bits(a.leakage_bits),
            style=_COLOURS[a.status] if a.role == "suppress" else None,
        )
    return table


def _proved(a: AttributeEvidence) -> str:
    found = a.certificate
    if isinstance(found, CertifiedRows):
        if not found.reliable or not (found.checked or found.of_this_file):
            return NONE
    elif found is None or found.stated is None:
        return NONE
    return found.figure


def _linked(a: AttributeEvidence) -> Linked | None:
    """Twenty records of one person, or the most there are."""
    return a.linked.get("20") or max(a.linked.values(), key=lambda one: one.records, default=None)


def _linked_sizes(evidence: Evidence) -> set[int]:
    chosen = (_linked(a) for a in evidence.attributes.values())
    return {one.records for one in chosen if one is not None}


def _linked_cell(a: AttributeEvidence, *, several: bool) -> str:
    chosen = _linked(a)
    if chosen is None:
        return NONE
    return points(chosen.accuracy) + (f" ×{chosen.records}" if several else "")


def _legend(evidence: Evidence) -> list[str]:
    proved = any(a.certificate for a in evidence.attributes.values())
    lines = ["accuracy in % on held-out records (95 % interval)"]
    lines[0] += "" if proved else "; bits that an attacker can use"
    if evidence.release is not None:
        lines += [
            "frozen: a model of the originals, not retrained: the check that papers make",
            "retrained: the best model trained on the release, which is what an attacker does",
        ]
    if _linked_sizes(evidence):
        lines.append("linked: an attacker who also knows that this many records are of one person")
    if proved:
        lines.append("proved: no attacker, however strong, reads more from one record")
    return lines


def _wider(evidence: Evidence) -> list[str]:
    """Which columns were attacked, the smallest leak that would be noticed, and linked rows."""
    lines = []
    attacked = [c for c in evidence.columns if c.attacked]
    if attacked:
        told = [f"{c.name}{_told(c)}" for c in attacked]
        lines.append(f"columns attacked: the features, {', '.join(told)}")
    skipped = [f"{c.name} ({c.why_not})" for c in evidence.columns if not c.attacked]
    if skipped:
        lines.append(f"columns not attacked: {', '.join(skipped)}")
    for name, a in evidence.suppressed.items():
        if a.smallest_leak is not None:
            lines.append(
                f"{name}: the audit would not notice a leak of less than"
                f" {100 * a.smallest_leak:.1f} points above the floor"
            )
    for name, a in evidence.attributes.items():
        lines += [
            f"{name}, from {line.seen}: {100 * line.found.accuracy:.1f} %"
            f" (floor {100 * line.found.floor:.1f} %)"
            for line in linked_lines(a)
            if not line.together
        ]
    return lines + with_original_lines(evidence)


def _told(column: Column) -> str:
    found = [
        f"{name} at {100 * read.accuracy:.1f} %"
        for name, read in column.tells.items()
        if read.sure or read.copy_of
    ]
    return f" (reveals {', '.join(found)})" if found else ""


def _verdict_style(evidence: Evidence) -> str:
    found = {a.status for a in evidence.suppressed.values()}
    worst = next((s for s in ("readable", "blind", "floor") if s in found), None)
    return "bold" if worst is None else _COLOURS[worst]
