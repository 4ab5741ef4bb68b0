"""The linked tier: accuracy against how many records of one person are put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from withhold.report.charts import svg
from withhold.report.number_format import percent, points, span

_TOP, _PLOT, _BOTTOM = 24, 150, 42  # pixels


@dataclass(frozen=True)
class Point:
    """An accuracy at a number of records."""

    records: int
    value: float
    ci: tuple[float, float]


def curve(measured: Sequence[Point], *, floor: float, title: str) -> Markup:
    """Points with intervals over a logarithmic axis of records, in order; the floor as a line."""
    ordered = sorted(measured, key=lambda point: point.records)
    most = max((point.records for point in ordered), default=1)
    said = "; ".join(
        f"{p.records} records {percent(p.value)}, interval {span(p.ci)}" for p in ordered
    )
    return svg.drawing(
        _TOP + _PLOT + _BOTTOM,
        *[_level(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        svg.line("0%", _y(floor), "100%", _y(floor), "mark floor"),
        *[
            svg.line(_x(a, most), _y(a.value), _x(b, most), _y(b.value), "curve")
            for a, b in pairwise(ordered)
        ],
        *[_point(point, most) for point in ordered],
        svg.text(
            "records put together", "50%", _TOP + _PLOT + _BOTTOM - 4, "tick", anchor="middle"
        ),
        kind="curve",
        title=title,
        description=f"{said}; floor {percent(floor)}",
    )


def _x(point: Point, most: int) -> str:
    """1 record at 0 %, the most at 100 %, by the logarithm."""
    return svg.at(math.log(max(point.records, 1)) / math.log(most) if most > 1 else 0.5)


def _y(share: float) -> float:
    return _TOP + _PLOT * (1 - svg.inside(share))


def _level(share: float) -> Markup:
    name = f"{100 * share:.0f}" + (" %" if share == 1 else "")
    label = svg.text(name, "0%", _y(share) + 4, "tick", anchor="end", dx=-20)
    return svg.line("0%", _y(share), "100%", _y(share), "grid") + label


def _point(point: Point, most: int) -> Markup:
    x, low, high = _x(point, most), _y(point.ci[0]), _y(point.ci[1])
    # Above the point; below it near the line of 100 %.
    near_top = high < _TOP + 6
    label_y = low + 20 if near_top and low + 20 < _TOP + _PLOT else high - 9
    return Markup("").join(
        [
            svg.line(x, low, x, high, "whisker"),
            svg.element("circle", {"cx": x, "cy": _y(point.value), "r": 4.5, "class": "dot"}),
            svg.text(points(point.value), x, label_y, "value strong", anchor="middle"),
            svg.text(str(point.records), x, _TOP + _PLOT + 19, "tick", anchor="middle"),
        ]
    )
