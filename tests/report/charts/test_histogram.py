"""The histogram: heights are counts, places are distances."""

from __future__ import annotations

import pytest

from report.reading import Page, share
from withhold.report.charts.histogram import histogram


def test_heights_and_places() -> None:
    page = Page(histogram([0.0, 1.0, 2.0, 4.0], [10, 5, 20], mean=1.0, title="t"))
    bins = list(page.all("rect", "bin"))
    heights = [float(b["height"]) for b in bins]
    assert heights == pytest.approx([heights[2] / 2, heights[2] / 4, heights[2]])
    assert [share(b["x"]) for b in bins] == [0, 0.25, 0.5]
    assert [share(b["width"]) for b in bins] == [0.25, 0.25, 0.5]
    assert len({float(b["y"]) + float(b["height"]) for b in bins}) == 1
    assert [share(m["x1"]) for m in page.all("line", "mark")] == [0.25]


@pytest.mark.parametrize("edges", [[], [2.0], [2.0, 2.0]])
def test_nothing_to_draw(edges: list[float]) -> None:
    counts = [0] * max(len(edges) - 1, 0)
    assert "mean 2" in Page(histogram(edges, counts, mean=2.0, title="t")).text
