"""Accuracies below each other: a bar each, with its interval, the floor and the majority marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.report.charts import svg
from withhold.report.charts.named_marks import LINE, Mark, across, named
from withhold.report.number_format import percent, span

_ROW, _BAR = 42, 14  # pixels: a figure, its bar


@dataclass(frozen=True)
class Bar:
    """One figure: who reads, how much, and in which colour (a class of the stylesheet)."""

    label: str
    value: float
    ci: tuple[float, float]
    kind: str


def bars(rows: Sequence[Bar], *, floor: float, majority: float, title: str) -> Markup:
    """Bars from 0 to 100 %, each under its name; the widths are the accuracies."""
    said = "; ".join(f"{r.label} {percent(r.value)}, interval {span(r.ci)}" for r in rows)
    marks = _marks(floor, majority)
    return svg.drawing(
        _ROW * len(rows) + LINE * len(marks) + 4,
        *[_row(row, _ROW * place, marks) for place, row in enumerate(rows)],
        *[named(mark, _ROW * len(rows), place) for place, mark in enumerate(marks)],
        kind="bars",
        title=title,
        description=f"{said}; floor {percent(floor)}; majority {percent(majority)}",
    )


def _marks(floor: float, majority: float) -> list[Mark]:
    """The floor and the majority; one mark where they are one figure."""
    if abs(floor - majority) < 0.0005:
        return [Mark(floor, f"guessing gets {percent(floor)}, the floor", "floor")]
    return [
        Mark(floor, f"floor {percent(floor)}", "floor"),
        Mark(majority, f"majority {percent(majority)}", "majority"),
    ]


def _row(row: Bar, top: float, marks: Sequence[Mark]) -> Markup:
    y = top + 19
    low, high = (svg.at(end) for end in row.ci)
    drawn = [
        svg.text(row.label, "0%", top + 12, "label"),
        svg.value_text(percent(row.value), span(row.ci), top + 12),
        svg.bar("0%", y, "100%", _BAR, "track"),
        svg.bar("0%", y, svg.at(row.value), _BAR, f"bar {row.kind}"),
        svg.whisker(low, high, y + _BAR / 2),
        *[across(mark, y - 2, y + _BAR + 3) for mark in marks],
    ]
    return Markup("").join(drawn)
