"""How much is left: a thin bar, and a mark where it was."""

from __future__ import annotations

from markupsafe import Markup

from withhold.report.charts import svg

_HEIGHT, _BAR = 12, 6


def meter(value: float, *, before: float | None) -> Markup:
    """A bar as wide as the value."""
    top = (_HEIGHT - _BAR) / 2
    drawn = [
        svg.bar("0%", top, "100%", _BAR, "track"),
        svg.bar("0%", top, svg.at(value), _BAR, "bar kept"),
    ]
    if before is not None:
        drawn.append(svg.line(svg.at(before), 0, svg.at(before), _HEIGHT, "mark before"))
    return svg.beside_text(_HEIGHT, *drawn, kind="meter")
