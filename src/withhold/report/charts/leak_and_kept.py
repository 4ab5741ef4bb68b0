"""The rows of a comparison: further left, less leaks; further up, more is left to use.

Across: how far the best attacker is above guessing. A thin line leads from each mark to the figure
that counts: the proved one, or without proof the upper end of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.report.charts import svg

_TOP, _PLOT, _BOTTOM = 42, 300, 46  # pixels
_APART = 15  # pixels between the numbers of marks that lie near each other
_NEAR = 0.09  # of the width: marks nearer than this share a column of numbers
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class RowMark:
    """One row: its number in the table, and shares of 0..1.

    leak: of the attack above the floor; counts: of the figure that counts, above its floor; kept:
    what is left.
    """

    number: int
    label: str
    leak: float
    counts: float
    kept: float
    proved: bool
    best: bool


def leak_and_kept(marks: Sequence[RowMark], *, name: str, limit: float | None, word: str) -> Markup:
    """The chart for one suppressed attribute. `limit` is above the floor; `word` names its line."""
    most = max([0.02, *(m.counts for m in marks), *(m.leak for m in marks), limit or 0.0])
    reach = 1.06 * most
    numbers = _number_places(marks, reach)
    said = "; ".join(
        f"{m.number} {m.label}: {100 * m.leak:.1f} points above guessing, {_counted(m)},"
        f" {100 * m.kept:.0f} % kept"
        for m in marks
    )
    lines = [_level(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    lines += [_tick(value, reach) for value in _ticks(reach)]
    lines.append(_upright(0.0, reach, "floor: guessing", "mark floor"))
    if limit is not None and limit > 0:
        lines.append(_upright(limit, reach, word, "mark limit"))
    below = _TOP + _PLOT + _BOTTOM - 4
    axis = svg.text(f"points above guessing {name}", "50%", below, "tick", anchor="middle")
    # Proved rows are drawn on top of the others, and the best one on top of all.
    ordered = sorted(marks, key=lambda m: (m.best, m.proved))
    return svg.drawing(
        _TOP + _PLOT + _BOTTOM,
        *lines,
        *[_line(m, reach) for m in ordered],
        *[_mark(m, reach) for m in ordered],
        *[_number(m, reach, *numbers[m.number]) for m in ordered],
        axis,
        kind="rows",
        title=f"What leaks of {name}, against what is left to use",
        description=said,
    )


def _counted(mark: RowMark) -> str:
    word = "proved at most" if mark.proved else "interval up to"
    return f"{word} {100 * mark.counts:.1f}"


def _x(value: float, reach: float) -> str:
    return svg.at(max(value, 0.0) / reach)


def _y(kept: float) -> float:
    return round(_TOP + _PLOT * (1 - svg.inside(kept)), 1)


def _line(mark: RowMark, reach: float) -> Markup:
    """The line from a mark to the figure that counts."""
    y, end = _y(mark.kept), _x(mark.counts, reach)
    across = svg.line(_x(mark.leak, reach), y, end, y, "counts")
    return across + svg.line(end, y - 4, end, y + 4, "counts")


def _mark(mark: RowMark, reach: float) -> Markup:
    place: svg.Attributes = {"cx": _x(mark.leak, reach), "cy": _y(mark.kept)}
    kind = " ".join(["dot", *["sure"] * mark.proved, *["best"] * mark.best])
    ring = [svg.element("circle", {**place, "r": 11, "class": "ring"})] if mark.best else []
    hint = (
        f"{mark.number} {mark.label}: {100 * mark.leak:.1f} points above guessing,"
        f" {_counted(mark)}; {100 * mark.kept:.1f} % kept"
    )
    dot = svg.element("circle", {**place, "r": 6, "class": kind})
    return svg.element("g", {}, svg.element("title", {}, hint), *ring, dot)


def _number(mark: RowMark, reach: float, y: float, right: bool) -> Markup:
    """The number of a row, beside its mark."""
    away = (15 if mark.best else 9) * (1 if right else -1)
    kind, anchor = "number strong" if mark.best else "number", "start" if right else "end"
    x = _x(mark.leak, reach)
    return svg.text(f"{mark.number}", x, y + 4.5, kind, anchor=anchor, dx=away)


def _number_places(marks: Sequence[RowMark], reach: float) -> dict[int, tuple[float, bool]]:
    """The height of each number, and whether it stands to the right of its mark.

    Numbers of marks in about the same place are moved down until they do not overlap.
    """
    placed: dict[int, tuple[float, bool]] = {}
    taken: list[tuple[float, float]] = []
    for mark in sorted(marks, key=lambda m: -m.kept):
        share, y = max(mark.leak, 0.0) / reach, _y(mark.kept)
        while any(abs(share - x) < _NEAR and abs(y - other) < _APART for x, other in taken):
            y += 1
        taken.append((share, y))
        placed[mark.number] = (y, share < 0.93)
    return placed


def _ticks(reach: float) -> list[float]:
    step = next((s for s in _STEPS if reach / s <= 6), 0.25)
    return [i * step for i in range(math.floor(reach / step + 1e-9) + 1)]


def _tick(value: float, reach: float) -> Markup:
    x, y = _x(value, reach), _TOP + _PLOT
    label = svg.text(f"{100 * value:.3g}", x, y + 19, "tick", anchor="middle")
    return svg.line(x, y, x, y + 5, "grid") + label


def _level(share: float) -> Markup:
    name = f"{100 * share:.0f}" + (" %" if share == 1 else "")
    label = svg.text(name, "0%", _y(share) + 4, "tick", anchor="end", dx=-12)
    return svg.line("0%", _y(share), "100%", _y(share), "grid") + label


def _upright(value: float, reach: float, name: str, kind: str) -> Markup:
    x = _x(value, reach)
    left = value / reach < 0.5
    label = svg.text(
        name, x, _TOP - (10 if value == 0 else 26), "marked", anchor="start" if left else "end"
    )
    return svg.line(x, _TOP - 6, x, _TOP + _PLOT, kind) + label
