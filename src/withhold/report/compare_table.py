"""The table of a comparison in a terminal, as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from withhold.audit.comparison import ComparedRow, Comparison
from withhold.certificate.claim_wording import at_most
from withhold.core.terminal import printable
from withhold.report.compare_wording import headline, legend, limits_text
from withhold.report.number_format import NONE, points, span

_SHOWN = 6  # attributes with a column of their own


def comparison_text(found: Comparison) -> str:
    """The headline, the table, what was not run, and the legend."""
    header, lines = cells(found)
    parts = [
        f"{found.data}: {found.records:,} records, suppress {', '.join(found.suppress)};"
        f" limits: {limits_text(found)}",
        "",
        *aligned(header, lines),
        "",
        headline(found),
        *(f"skipped: {row.label}: {row.skipped}" for row in found.rows if row.skipped),
        *(f"not run (time limit): {label}" for label in found.not_run),
        *(f"note: {note}" for note in found.notes),
        "",
        "in %; * is the best row within the limits",
        *legend(found),
    ]
    return "\n".join(printable(part.replace("\N{NO-BREAK SPACE}", " ")) for part in parts)


def cells(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """Header and lines of the table."""
    header = [""]
    for name in found.suppress:
        header += [f"attack {name}", "proved"]
    shown = found.readable[:_SHOWN]
    header += ["kept", *shown, "codes", "s"]
    floor = ["floor, or guessing"]
    reference = found.reference
    for name in found.suppress:
        floor += [points(reference.leak(name).floor), ""]
    guess = [points(reference.runs[0].read[name].majority) for name in shown]
    lines = [[*floor, points(0.0), *guess, "", ""]]
    lines += [_line(found, row, shown) for row in found.rows if row.runs]
    return header, lines


def _line(found: Comparison, row: ComparedRow, shown: Sequence[str]) -> list[str]:
    line = [f"* {row.label}" if row == found.best else f"  {row.label}"]
    for name in found.suppress:
        leak = row.leak(name)
        proved = NONE if leak.proved is None else at_most(leak.proved)
        line += [f"{points(leak.accuracy)} ({span(leak.ci)})", proved]
    spread = found.kept_spread(row)
    line.append(points(found.kept(row)) + ("" if spread is None else f" ± {points(spread)}"))
    line += [points(found.accuracy(row, name)) for name in shown]
    line += [NONE if row.codes is None else f"{row.codes:,}", f"{row.seconds:.0f}"]
    return line


def aligned(header: list[str], lines: list[list[str]]) -> list[str]:
    """Columns of equal width: the first to the left, the others to the right."""
    rows = [header, *lines]
    wide = [max(len(row[i]) for row in rows) for i in range(len(header))]
    made = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]
    return [made[0], "-" * max(map(len, made)), *made[1:]]
