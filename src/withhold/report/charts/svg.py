"""Elements of a drawing as escaped text.

A chart is as wide as its box. Horizontal positions are percentages of that width; vertical
positions and all sizes are pixels, so lettering keeps its size on a phone. The numbers of an axis
lie outside 0..100 %; the stylesheet leaves room for them.
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
    """A whole chart, with a title and a description for screen readers."""
    return element(
        "svg",
        {"class": f"chart {kind}", "role": "img", "width": "100%", "height": height},
        element("title", {}, title),
        element("desc", {}, description),
        *inside,
    )


def beside_text(height: int, *inside: Markup, kind: str) -> Markup:
    """A small chart, hidden from screen readers: the text next to it gives the same figures."""
    shape: Attributes = {"class": f"chart {kind}", "width": "100%", "height": height}
    return element("svg", {**shape, "aria_hidden": "true"}, *inside)


def text(
    label: str, x: str, y: float, kind: str = "", *, anchor: str = "start", dx: float = 0
) -> Markup:
    """Lettering whose start, middle or end is at x, moved by dx pixels."""
    moved: Attributes = {"dx": dx} if dx else {}
    place: Attributes = {"x": x, **moved, "y": y, "class": kind, "text_anchor": anchor}
    return element("text", place, label)


def value_text(strong: str, soft: str, y: float) -> Markup:
    """A figure at the right edge, with its interval before it."""
    return element(
        "text",
        {"x": "100%", "y": y, "text_anchor": "end", "class": "value"},
        element("tspan", {"class": "soft"}, soft),
        element("tspan", {"class": "strong", "dx": 10}, strong),
    )


def whisker(low: str, high: str, y: float) -> Markup:
    """An interval as a line with an end at both sides."""
    ends = [line(x, y - 3, x, y + 3, "whisker") for x in (low, high)]
    return line(low, y, high, y, "whisker") + ends[0] + ends[1]


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
    """Clipped to 0..1; NaN is 0."""
    return min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0


def _value(value: str | float | int) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
