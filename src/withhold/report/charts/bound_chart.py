"""The best attack found, guessing, and the bound on every attacker, on one scale.

The scale ends just above the largest figure, because useful bounds are a few percent.
"""

from __future__ import annotations

import math

from markupsafe import Markup

from withhold.certificate.claim_wording import at_most
from withhold.report.charts import svg
from withhold.report.charts.named_marks import LINE, Mark, across, named
from withhold.report.number_format import percent, percent_of, span

_BAR, _TOP = 16, 22  # pixels: the bar, and the lettering over it
_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def limit(
    value: float,
    ci: tuple[float, float],
    *,
    floor: float,
    bound: float,
    title: str,
    figure: str | None = None,
) -> Markup:
    """A bar as long as the best attack, on a track that ends at the bound.

    figure: the bound in percent as the text states it; by default rounded up.
    """
    said = _said(bound, at_most(bound) if figure is None else figure)
    end = scale(value, ci[1], floor, bound)
    bottom = _TOP + _BAR + 8
    low, high = (svg.at(side / end) for side in ci)
    marks = [
        Mark(floor / end, f"guessing {percent(floor)}", "floor"),
        Mark(bound / end, said, "bound"),
    ]
    return svg.drawing(
        bottom + LINE * 3 + 2,
        svg.text("Best attack found", "0%", 14, "label"),
        svg.value_text(percent(value), span(ci), 14),
        svg.bar("0%", _TOP, "100%", _BAR, "beyond"),
        svg.bar("0%", _TOP, svg.at(bound / end), _BAR, "track"),
        svg.bar("0%", _TOP, svg.at(value / end), _BAR, "bar"),
        svg.whisker(low, high, _TOP + _BAR / 2),
        *[across(mark, _TOP - 3, bottom) for mark in marks],
        *_names(marks, bottom),
        svg.text("0", "0%", bottom + LINE * 2 + 13, "tick"),
        svg.text(f"{100 * end:g} %", "100%", bottom + LINE * 2 + 13, "tick", anchor="end"),
        kind="limit",
        title=title,
        description=f"Best attack found {percent(value)}, interval {span(ci)}; guessing"
        f" {percent(floor)}; {said}",
    )


def _said(bound: float, figure: str) -> str:
    return f"no attacker beyond {percent_of(figure)}" if bound < 1 else "nothing is ruled out"


def _names(marks: list[Mark], bottom: float) -> list[Markup]:
    """Names that no mark crosses: side by side if there is room, otherwise in two lines."""
    low, high = sorted(marks, key=lambda mark: mark.share)
    low_right, high_right = low.share < _room(low), 1 - high.share >= _room(high)
    places = {(False, True): (0, 0), (True, True): (1, 0)}.get((low_right, high_right), (0, 1))
    return [
        named(low, bottom, places[0], right=low_right),
        named(high, bottom, places[1], right=high_right),
    ]


def _room(mark: Mark) -> float:
    """The part of a telephone's width that a name takes."""
    return len(mark.label) * 6.6 / 320


def scale(*shares: float) -> float:
    """Where the scale ends: the first round figure with some room above all shares."""
    most = max(s for s in (*shares, 0.0) if math.isfinite(s))
    return next((end for end in _ENDS if most <= 0.9 * end), 1.0)
