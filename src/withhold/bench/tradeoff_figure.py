"""The trade-off figure: a standalone SVG file in the reader's light or dark colours.

Points further left are read less by attackers; points further up leave more to use. Each useful
attribute has a panel; marks and colours are the same in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.bench.chart_marks import STYLE, Look, looks_of
from withhold.report.charts.svg import element, line, text

WIDTH, HEIGHT = 1000, 420  # of the drawing; of the panels without their axes
LEFT, BETWEEN, RIGHT = 66, 64, 24
LETTER = 6.9  # pixels: about the width of a letter of the legend
ROW = 24  # pixels from one row of the legend to the next


@dataclass(frozen=True)
class Spot:
    """One point: x and y in 0..1, and the certified bound on x."""

    label: str
    x: float
    y: float
    bound: float | None = None


@dataclass(frozen=True)
class Curve:
    """The points of one method, in order."""

    name: str
    method: str
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class Panel:
    """One useful attribute: its curves, and how often guessing is right about it."""

    name: str
    curves: tuple[Curve, ...]
    guess: float


@dataclass(frozen=True)
class _Scale:
    """From a share in low..high to pixels in start..end."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float) -> _Scale:
        """Room for every value, and a little more."""
        low, high = min(values), max(values)
        room = max(0.06 * (high - low), 0.01)
        return cls(low - room, high + room, start, end)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers, five to ten of them, none outside 0..1."""
        step = next(s for s in _STEPS if (self.high - self.low) / s <= 9)
        first = math.ceil(self.low / step - 1e-9)
        found = [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [t for t in found if -1e-9 <= t <= 1 + 1e-9]


_STEPS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def draw_figure(
    panels: Sequence[Panel],
    *,
    title: str,
    suppressed: str,
    floor: float,
    original: float | None,
) -> str:
    """The whole file. `floor` and `original` are of the suppressed attribute."""
    looks = looks_of([(curve.name, curve.method) for curve in panels[0].curves])
    legend, top = _legend(panels[0].curves, looks)
    width = (WIDTH - LEFT - RIGHT - BETWEEN * (len(panels) - 1)) / len(panels)
    xs = [s.x for p in panels for c in p.curves for s in c.spots] + [floor]
    xs += [s.bound for p in panels for c in p.curves for s in c.spots if s.bound is not None]
    xs += [] if original is None else [original]
    drawn = []
    for i, panel in enumerate(panels):
        left = LEFT + i * (width + BETWEEN)
        ys = [s.y for c in panel.curves for s in c.spots] + [panel.guess]
        x = _Scale.of(xs, left, left + width)
        y = _Scale.of(ys, top + HEIGHT, top)
        drawn += [*_axes(panel, x, y, suppressed, floor, original)]
        drawn += [_curve(curve, looks[curve.name], x, y) for curve in panel.curves]
    height = top + HEIGHT + 58
    described = (
        f"Further left: attackers read less of {suppressed}. Further up: more is left to read of"
        f" {', '.join(p.name for p in panels)}. Curves: {', '.join(looks)}."
    )
    svg = element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height}",
            "width": WIDTH,
            "height": height,
            "role": "img",
        },
        element("title", {}, title),
        element("desc", {}, described),
        element("style", {}, Markup(STYLE)),
        element("rect", {"width": WIDTH, "height": height, "class": "ground"}),
        text(title, str(LEFT), 28, "head"),
        legend,
        *drawn,
    )
    return f"{svg}\n"


def _legend(curves: Sequence[Curve], looks: dict[str, Look]) -> tuple[Markup, int]:
    """The legend, and the height at which the panels begin."""
    entries = []
    for curve in curves:
        look = looks[curve.name]
        sample = [look.mark(0, 0)]
        if len(curve.spots) > 1:
            sample.insert(0, _line(-13, 0, 13, 0, "curve"))
        entries.append((curve.name, element("g", {"class": look.kind}, *sample)))
    if any(s.bound is not None for c in curves for s in c.spots):
        drawn = element("g", {"class": "plain"}, *_whisker(-12, 12, 0))
        entries.append(("right end: the certified bound", drawn))
    pieces, x, y = [], float(LEFT), 56
    for name, drawn in entries:
        wide = 40 + LETTER * len(name) + 18
        if x > LEFT and x + wide > WIDTH - RIGHT + 18:
            x, y = float(LEFT), y + ROW
        place = f"translate({x + 14:.1f} {y - 4})"
        pieces.append(element("g", {"transform": place}, drawn))
        pieces.append(text(name, f"{x + 36:.1f}", y, "label"))
        x += wide
    return Markup("").join(pieces), y + 56


def _axes(
    panel: Panel, x: _Scale, y: _Scale, suppressed: str, floor: float, original: float | None
) -> Iterator[Markup]:
    """Grid, numbers and names, and lines for guessing and for the original."""
    for tick in y.ticks():
        yield _line(x.start, y(tick), x.end, y(tick), "grid")
        yield text(f"{100 * tick:.4g}", f"{x.start - 9:.1f}", y(tick) + 4.5, "tick", anchor="end")
    for tick in x.ticks():
        yield _line(x(tick), y.start, x(tick), y.start + 5, "axis")
        yield text(f"{100 * tick:.4g}", f"{x(tick):.1f}", y.start + 20, "tick", anchor="middle")
    yield _line(x.start, y.start, x.end, y.start, "axis")
    middle = (x.start + x.end) / 2
    named = f"attackers right about {suppressed}, %"
    yield text(named, f"{middle:.1f}", y.start + 44, "name", anchor="middle")
    yield text(f"models right about {panel.name}, %", f"{x.start:.1f}", y.end - 28, "name")
    yield text("↖ better", f"{x.end:.1f}", y.end - 28, "note", anchor="end")
    upright = [("guessing", floor)]
    if original is not None and x(original) - x(floor) > 90:
        upright.append(("original", original))
    for name, value in upright:
        yield _line(x(value), y.start, x(value), y.end - 4, "known")
        yield text(name, f"{x(value):.1f}", y.end - 8, "note", anchor="middle")
    yield _line(x.start, y(panel.guess), x.end, y(panel.guess), "known")
    # Curves rise to the right, so this corner is free.
    yield text("guessing", f"{x.end:.1f}", y(panel.guess) - 6, "note", anchor="end")


def _curve(curve: Curve, look: Look, x: _Scale, y: _Scale) -> Markup:
    """The line, then the bounds, then the marks on top."""
    places = [(x(s.x), y(s.y)) for s in curve.spots]
    pieces = []
    if len(places) > 1:
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        pieces.append(element("polyline", {"points": path, "class": "curve"}))
    for spot, (_, down) in zip(curve.spots, places, strict=True):
        if spot.bound is not None:
            pieces += _whisker(x(spot.x), x(spot.bound), down)
    for spot, (across, down) in zip(curve.spots, places, strict=True):
        told = "" if spot.bound is None else f", certified at most {100 * spot.bound:.1f} %"
        hint = f"{spot.label}: attackers {100 * spot.x:.1f} %{told}; models {100 * spot.y:.1f} %"
        pieces.append(element("g", {}, element("title", {}, hint), look.mark(across, down)))
    return element("g", {"class": look.kind}, *pieces)


def _whisker(start: float, end: float, y: float) -> list[Markup]:
    return [_line(start, y, end, y, "bound"), _line(end, y - 4, end, y + 4, "bound")]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return line(f"{x1:.1f}", round(y1, 1), f"{x2:.1f}", round(y2, 1), kind)
