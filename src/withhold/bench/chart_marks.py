"""How a curve looks: a colour for its method, and a mark that tells it without the colour.

The colours are those of Okabe and Ito, made darker or lighter until they stand out on a light and
on a dark ground. A second curve of a method has hollow marks and a dashed line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.report.charts.svg import element

# Outlines around 0, 0 in pixels; the last three are strokes without an area.
_SHAPES = {
    "circle": "M-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0z",
    "square": "M-5-5h10v10h-10z",
    "diamond": "M0-6.6L6.6 0L0 6.6L-6.6 0z",
    "up": "M0-6.6L5.7 3.3h-11.4z",
    "down": "M0 6.6L5.7-3.3h-11.4z",
    "pentagon": "M0-6.6L6.3-2L3.9 5.3h-7.8L-6.3-2z",
    "plus": "M-5.5 0h11M0-5.5v11",
    "cross": "M-4.4-4.4L4.4 4.4M-4.4 4.4L4.4-4.4",
    "star": "M-5.5 0h11M-2.8-4.8L2.8 4.8M-2.8 4.8L2.8-4.8",
}
# Mark, colour on a light ground, colour on a dark one.
_METHODS = {
    "codebook": ("circle", "#0067a8", "#5cb8f0"),
    "mass": ("diamond", "#c44f00", "#ff8c42"),
    "mass-it": ("down", "#8a6d00", "#f0c52e"),
    "pass": ("square", "#00805c", "#2fd0a0"),
    "noise": ("up", "#a8457f", "#e79cc6"),
    "leace": ("pentagon", "#3d3d3d", "#e4e4e4"),
    "replace": ("square", "#00805c", "#2fd0a0"),
    "generator": ("up", "#a8457f", "#e79cc6"),
    "gap": ("diamond", "#c44f00", "#ff8c42"),
    "identity": ("plus", "#555555", "#c4c4c4"),
    "constant": ("cross", "#555555", "#c4c4c4"),
    "random-substitute": ("star", "#555555", "#c4c4c4"),
}
_OTHER = ("diamond", "#555555", "#c4c4c4")
_FILLS = ("full", "hollow", "dotted")


@dataclass(frozen=True)
class Look:
    """The mark of a curve, and its classes of the stylesheet."""

    shape: str
    kind: str

    def mark(self, x: float, y: float) -> Markup:
        """The mark with its centre at x, y."""
        outline = _SHAPES[self.shape]
        kind = "mark" if outline.endswith("z") else "stroke"
        place = {"transform": f"translate({x:.1f} {y:.1f})"}
        drawn = element("path", {"d": outline, **place, "class": kind})
        dot = element("circle", {"r": 1.6, **place, "class": "dot"})
        return drawn + dot if "dotted" in self.kind else drawn


def looks_of(curves: Sequence[tuple[str, str]]) -> dict[str, Look]:
    """A look for each curve (name, method)."""
    looks: dict[str, Look] = {}
    seen: dict[str, int] = {}
    for name, method in curves:
        fill = _FILLS[min(seen.get(method, 0), len(_FILLS) - 1)]
        seen[method] = seen.get(method, 0) + 1
        looks[name] = Look(_METHODS.get(method, _OTHER)[0], f"{_class(method)} {fill}")
    return looks


def _class(method: str) -> str:
    return f"m-{method}" if method in _METHODS else "m-other"


def _inks(place: int) -> str:
    chosen = {_class(method): look[place] for method, look in _METHODS.items()}
    chosen["m-other"] = _OTHER[place]
    return "".join(f".{name}{{color:{ink}}}" for name, ink in chosen.items())


STYLE = f"""
svg{{--ground:#fff;--ink:#1c1c1c;--soft:#5a5a5a;--grid:#e6e6e6;color:var(--ink);
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}}
{_inks(1)}
@media (prefers-color-scheme:dark){{
svg{{--ground:#15171a;--ink:#ececec;--soft:#a9adb3;--grid:#2c3036}}
{_inks(2)}
}}
.ground{{fill:var(--ground)}}
text{{fill:var(--ink);font-size:13px}}
.head{{font-size:17px;font-weight:600}}
.name{{font-weight:600}}
.tick,.note{{fill:var(--soft);font-size:12.5px;font-variant-numeric:tabular-nums}}
.note{{font-style:italic}}
.grid{{stroke:var(--grid)}}
.axis{{stroke:var(--soft)}}
.known{{stroke:var(--soft);stroke-dasharray:2 4}}
.curve{{fill:none;stroke:currentColor;stroke-width:1.8;stroke-opacity:.75;stroke-linejoin:round}}
.m-codebook .curve{{stroke-width:2.6}}
.hollow .curve{{stroke-dasharray:7 4}}
.dotted .curve{{stroke-dasharray:2 4}}
.bound{{stroke:currentColor;stroke-width:1.2;stroke-opacity:.7}}
.plain{{color:var(--soft)}}
.mark{{fill:currentColor;stroke:var(--ground);stroke-width:1}}
.hollow .mark,.dotted .mark{{fill:var(--ground);stroke:currentColor;stroke-width:2}}
.dot{{fill:currentColor}}
.stroke{{stroke:currentColor;stroke-width:2.4}}
"""
