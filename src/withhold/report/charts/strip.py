"""One accuracy on a line from 0 to 100 %, small enough for a row of a table."""

from __future__ import annotations

from markupsafe import Markup

from withhold.report.charts import svg

_HEIGHT = 16


def strip(value: float, ci: tuple[float, float], *, floor: float, chosen: bool = False) -> Markup:
    """A dot at the value on the line of its interval, and the floor as an upright mark."""
    middle, low, high = _HEIGHT / 2, svg.at(ci[0]), svg.at(ci[1])
    dot: svg.Attributes = {
        "cx": svg.at(value),
        "cy": middle,
        "r": 4.5 if chosen else 3.5,
        "class": "dot chosen" if chosen else "dot",
    }
    return svg.beside_text(
        _HEIGHT,
        svg.line("0%", middle, "100%", middle, "track"),
        svg.line(svg.at(floor), 1, svg.at(floor), _HEIGHT - 1, "mark floor"),
        svg.line(low, middle, high, middle, "whisker"),
        svg.element("circle", dot),
        kind="strip",
    )
