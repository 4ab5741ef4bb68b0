"""How far records moved: counts in bins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from withhold.report.charts import svg

_TOP, _PLOT, _BOTTOM = 18, 120, 24  # pixels


def histogram(edges: Sequence[float], counts: Sequence[int], *, mean: float, title: str) -> Markup:
    """Bars whose heights are the counts between the edges; the mean as an upright mark."""
    low, high = (edges[0], edges[-1]) if len(edges) > 1 else (0.0, 1.0)
    width = (high - low) or 1.0
    most = max(counts, default=0) or 1

    def x(value: float) -> float:
        return (value - low) / width

    drawn = [
        svg.bar(
            svg.at(x(left)),
            _TOP + _PLOT * (1 - count / most),
            svg.at(x(right) - x(left)),
            _PLOT * count / most,
            "bin",
        )
        for (left, right), count in zip(pairwise(edges), counts, strict=False)
    ]
    ends = [(0.0, low, "start"), (0.5, low + width / 2, "middle"), (1.0, high, "end")]
    side, moved = ("start", 6) if x(mean) < 0.5 else ("end", -6)
    return svg.drawing(
        _TOP + _PLOT + _BOTTOM,
        *drawn,
        svg.line("0%", _TOP + _PLOT, "100%", _TOP + _PLOT, "grid"),
        svg.line(svg.at(x(mean)), _TOP - 4, svg.at(x(mean)), _TOP + _PLOT, "mark floor"),
        svg.text(f"mean {mean:.3g}", svg.at(x(mean)), _TOP - 4, "marked", anchor=side, dx=moved),
        *[
            svg.text(f"{value:.3g}", svg.at(share), _TOP + _PLOT + 18, "tick", anchor=anchor)
            for share, value, anchor in ends
        ],
        kind="histogram",
        title=title,
        description=f"{sum(counts)} records moved by {low:.3g} to {high:.3g}, mean {mean:.3g}",
    )
