"""Upright marks across bars, and their names below."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from withhold.report.charts import svg

LINE = 17  # pixels: a line of lettering


@dataclass(frozen=True)
class Mark:
    """Where a mark stands, 0..1 of the width, its name, and its class of the stylesheet."""

    share: float
    label: str
    kind: str


def across(mark: Mark, top: float, bottom: float) -> Markup:
    """The mark itself."""
    x = svg.at(mark.share)
    return svg.line(x, top, x, bottom, f"mark {mark.kind}")


def named(mark: Mark, bottom: float, place: int, *, right: bool | None = None) -> Markup:
    """The name of the mark, in line `place` below `bottom`, to its right or left.

    By default on the side that has more room.
    """
    x, below = svg.at(mark.share), bottom + LINE * place
    right = mark.share < 0.5 if right is None else right
    anchor, dx = ("start", 5) if right else ("end", -5)
    label = svg.text(mark.label, x, below + 12, "marked", anchor=anchor, dx=dx)
    return svg.line(x, bottom - 6, x, below + 13, f"mark {mark.kind}") + label
