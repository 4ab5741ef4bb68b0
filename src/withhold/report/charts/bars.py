"""Accuracies below each other: a bar each, with its interval, the floor and the majority marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.report.charts import svg
from withhold.report.numbers import percent, span

_ROW, _BAR, _LINE = 42, 14, 17  # pixels: a figure, its bar, a line of lettering


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
        _ROW * len(rows) + _LINE * len(marks) + 4,
        *[_row(row, _ROW * place, marks) for place, row in enumerate(rows)],
        *[_name(mark, _ROW * len(rows), place) for place, mark in enumerate(marks)],
        kind="bars",
        title=title,
        description=f"{said}; floor {percent(floor)}; majority {percent(majority)}",
    )


@dataclass(frozen=True)
class _Mark:
    share: float
    label: str
    kind: str


def _marks(floor: float, majority: float) -> list[_Mark]:
    """The floor and the majority; one mark where they are one figure."""
    if abs(floor - majority) < 0.0005:
        return [_Mark(floor, f"guessing gets {percent(floor)}, the floor", "floor")]
    return [
        _Mark(floor, f"floor {percent(floor)}", "floor"),
        _Mark(majority, f"majority {percent(majority)}", "majority"),
    ]


def _row(row: Bar, top: float, marks: Sequence[_Mark]) -> Markup:
    y = top + 19
    middle = y + _BAR / 2
    low, high = (svg.at(end) for end in row.ci)
    drawn = [
        svg.text(row.label, "0%", top + 12, "label"),
        svg.element(
            "text",
            {"x": "100%", "y": top + 12, "text_anchor": "end", "class": "value"},
            svg.element("tspan", {"class": "soft"}, span(row.ci)),
            svg.element("tspan", {"class": "strong", "dx": 10}, percent(row.value)),
        ),
        svg.bar("0%", y, "100%", _BAR, "track"),
        svg.bar("0%", y, svg.at(row.value), _BAR, f"bar {row.kind}"),
        svg.line(low, middle, high, middle, "whisker"),
        svg.line(low, middle - 3, low, middle + 3, "whisker"),
        svg.line(high, middle - 3, high, middle + 3, "whisker"),
        *[
            svg.line(svg.at(m.share), y - 2, svg.at(m.share), y + _BAR + 3, f"mark {m.kind}")
            for m in marks
        ],
    ]
    return Markup("").join(drawn)


def _name(mark: _Mark, bottom: float, place: int) -> Markup:
    """The name of a mark under the last bar, on the side of it that has room."""
    x, below = svg.at(mark.share), bottom + _LINE * place
    left = mark.share < 0.5
    label = svg.element(
        "text",
        {
            "x": x,
            "dx": 5 if left else -5,
            "y": below + 12,
            "text_anchor": "start" if left else "end",
            "class": "marked",
        },
        mark.label,
    )
    return svg.line(x, bottom - 6, x, below + 13, f"mark {mark.kind}") + label
