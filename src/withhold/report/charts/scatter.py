"""A flat picture of records: a dot each, coloured by whichever attribute is chosen on the page.

Dots carry one class of the stylesheet an attribute: `a0c3` is colour 3 under attribute 0. The page
shows the colours of the attribute whose radio button is on; no script is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from withhold.report.charts import svg

COLOURS = 8  # those of Okabe and Ito; what comes after them is grey
OTHERS = "o"
_SIZE, _EDGE = 320, 10


@dataclass(frozen=True)
class Colouring:
    """The colour of each record under one attribute, and what the colours mean."""

    index: int
    name: str
    colours: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]


def colouring(index: int, name: str, labels: Sequence[int], classes: Sequence[str]) -> Colouring:
    """The commonest eight classes get a colour, in the order of classes; the others are grey."""
    seen = Counter(label for label in labels if label >= 0)
    shown = sorted(label for label, _ in seen.most_common(COLOURS))
    colour = {label: f"c{place}" for place, label in enumerate(shown)}
    legend = [(f"c{place}", _class(classes, label)) for place, label in enumerate(shown)]
    others = len(seen) - len(shown)
    if others:
        legend.append((OTHERS, f"{others:,} other{'s' if others > 1 else ''}"))
    if any(label < 0 for label in labels):
        legend.append((OTHERS, "unknown"))
    found = tuple(colour.get(label, OTHERS) for label in labels)
    return Colouring(index, name, found, tuple(legend))


def scatter(
    places: Sequence[tuple[float, float]], by: Sequence[Colouring], *, title: str
) -> Markup:
    """The dots, fitted into a square with one scale for both directions."""
    dots = [
        svg.element(
            "circle",
            {
                "cx": f"{x:.1f}",
                "cy": f"{y:.1f}",
                "r": 3,
                "class": " ".join(f"a{c.index}{c.colours[record]}" for c in by),
            },
        )
        for record, (x, y) in enumerate(_fitted(places))
    ]
    return svg.element(
        "svg",
        {"class": "chart scatter", "role": "img", "viewBox": f"0 0 {_SIZE} {_SIZE}"},
        svg.element("title", {}, title),
        svg.element("desc", {}, f"{len(places)} records; near each other where they are alike"),
        *dots,
    )


def _fitted(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    if not places:
        return []
    xy = np.nan_to_num(np.asarray(places, np.float64))
    low, high = xy.min(axis=0), xy.max(axis=0)
    reach = float((high - low).max()) or 1.0
    fitted = (xy - (low + high) / 2) / reach * (_SIZE - 2 * _EDGE) + _SIZE / 2
    return [(float(x), float(y)) for x, y in fitted]


def _class(classes: Sequence[str], label: int) -> str:
    return classes[label] if label < len(classes) else str(label)
