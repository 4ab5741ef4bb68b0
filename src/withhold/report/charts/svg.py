"""Elements of a drawing as escaped text.

A chart is as wide as the box it stands in: horizontal places are percentages of it, vertical ones
and all sizes are pixels, so lettering keeps its size on a telephone. What stands outside 0..100 %
(the numbers of an axis) is shown too; the stylesheet leaves room for it.
"""

from __future__ import annotations

import math

from markupsafe import Markup, escape

Attributes = dict[str, str | float | int]


def element(tag: str, attributes: Attributes | None = None, *inside: Markup | str) -> Markup:
    """One element; its attributes and every plain text inside are escaped."""
    pairs = Markup("").join(
        Markup(' {}="{}"').format(name.replace("_", "-"), _value(value))
        for name, value in (attributes or {}).items()
    )
    content = Markup("").join(escape(piece) for piece in inside)
    return Markup("<{}{}>{}</{}>").format(tag, pairs, content, tag)


def drawing(height: int, *inside: Markup, kind: str, title: str, description: str) -> Markup:
    """A whole chart: a picture with a name and a description for those who cannot see it."""
    return element(
        "svg",
        {"class": f"chart {kind}", "role": "img", "width": "100%", "height": height},
        element("title", {}, title),
        element("desc", {}, description),
        *inside,
    )


def text(label: str, x: str, y: float, kind: str = "", *, anchor: str = "start") -> Markup:
    """Lettering whose left end, middle or end is at x."""
    return element("text", {"x": x, "y": y, "class": kind, "text_anchor": anchor}, label)


def line(x1: str, y1: float, x2: str, y2: float, kind: str) -> Markup:
    """A straight line."""
    return element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def bar(x: str, y: float, width: str, height: float, kind: str) -> Markup:
    """A filled rectangle."""
    return element("rect", {"x": x, "y": y, "width": width, "height": height, "class": kind})


def at(share: float) -> str:
    """Where a share of 0..1 lies, as a percentage of the width."""
    return f"{100 * inside(share):.6g}%"


def inside(share: float) -> float:
    """Kept within 0..1; NaN is 0."""
    return min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0


def _value(value: str | float | int) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
