"""How a curve looks: a colour for its method, and a mark that tells it without the colour.

The colours are those of Okabe and Ito, made darker or lighter until they stand out from a light
and from a dark ground. A second curve of a method has hollow marks and a broken line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from markupsafe import Markup

from withhold.report.charts.svg import element, line

SIZE = 5.5  # pixels from the middle of a mark to its edge
_Corners = tuple[tuple[float, float], ...]


def _regular(corners: int, turn: float = 0.0) -> _Corners:
    """A regular polygon; a corner on top where it is not turned."""
    angles = [turn - pi / 2 + 2 * pi * i / corners for i in range(corners)]
    return tuple((1.2 * cos(a), 1.2 * sin(a)) for a in angles)


_POLYGONS: dict[str, _Corners] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": _regular(4),
    "up": _regular(3),
    "down": _regular(3, pi),
    "pentagon": _regular(5),
}
# The ends of each stroke.
_STROKES: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "plus": ((-1, 0, 1, 0), (0, -1, 0, 1)),
    "cross": ((-0.8, -0.8, 0.8, 0.8), (-0.8, 0.8, 0.8, -0.8)),
    "star": ((-1, 0, 1, 0), (-0.5, -0.87, 0.5, 0.87), (-0.5, 0.87, 0.5, -0.87)),
}
# Mark, colour on a light ground, colour on a dark one.
_METHODS = {
    "codebook": ("circle", "#0067a8", "#5cb8f0"),
    "mass": ("diamond", "#c44f00", "#ff8c42"),
    "mass-it": ("down", "#8a6d00", "#f0c52e"),
    "pass": ("square", "#00805c", "#2fd0a0"),
    "noise": ("up", "#a8457f", "#e79cc6"),
    "leace": ("pentagon", "#3d3d3d", "#e4e4e4"),
    "identity": ("plus", "#555555", "#c4c4c4"),
    "constant": ("cross", "#555555", "#c4c4c4"),
    "random-substitute": ("star", "#555555", "#c4c4c4"),
}
_OTHER = ("diamond", "#555555", "#c4c4c4")
_FILLS = ("full", "hollow", "dotted")


@dataclass(frozen=True)
class Look:
    """The mark of a curve, and the names of its styles."""

    shape: str
    kind: str

    def mark(self, x: float, y: float) -> Markup:
        """The mark with its middle at x, y."""
        if self.shape == "circle":
            drawn = _circle(x, y, SIZE)
        elif self.shape in _POLYGONS:
            corners = [(x + SIZE * a, y + SIZE * b) for a, b in _POLYGONS[self.shape]]
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
            drawn = element("polygon", {"points": points, "class": "mark"})
        else:
            drawn = Markup("").join(
                line(
                    f"{x + SIZE * a:.1f}", round(y + SIZE * b, 1),
                    f"{x + SIZE * c:.1f}", round(y + SIZE * d, 1), "stroke",
                )
                for a, b, c, d in _STROKES[self.shape]
            )  # fmt: skip
        return drawn + _circle(x, y, 1.6, "dot") if "dotted" in self.kind else drawn


def looks_of(curves: Sequence[tuple[str, str]]) -> dict[str, Look]:
    """A look for each curve (name, method)."""
    looks: dict[str, Look] = {}
    seen: dict[str, int] = {}
    for name, method in curves:
        shape = _METHODS.get(method, _OTHER)[0]
        fill = _FILLS[min(seen.get(method, 0), len(_FILLS) - 1)]
        seen[method] = seen.get(method, 0) + 1
        looks[name] = Look(shape, f"{_class(method)} {fill}")
    return looks


def _class(method: str) -> str:
    return f"m-{method}" if method in _METHODS else "m-other"


def _circle(x: float, y: float, radius: float, kind: str = "mark") -> Markup:
    return element("circle", {"cx": round(x, 1), "cy": round(y, 1), "r": radius, "class": kind})


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
