"""The linked curve: points in order, on a logarithmic axis."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from report.reading import Page, share
from withhold.report.charts.curve import Point, curve


def drawn(values: dict[int, float], floor: float = 0.1) -> Page:
    found = [Point(r, v, (max(v - 0.05, 0), min(v + 0.05, 1))) for r, v in values.items()]
    return Page(curve(found, floor=floor, title="t"))


def test_points_are_in_order_whatever_their_order_was() -> None:
    page = drawn({50: 0.9, 1: 0.3, 20: 0.8, 5: 0.6})
    places = [(share(c["cx"]), float(c["cy"])) for c in page.all("circle")]
    assert places == sorted(places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    lines = [(share(c["x1"]), share(c["x2"])) for c in page.all("line", "curve")]
    assert lines == [(a[0], b[0]) for a, b in pairwise(places)]


def test_the_axis_is_logarithmic() -> None:
    places = [share(c["cx"]) for c in drawn({1: 0.1, 5: 0.2, 25: 0.3}).all("circle")]
    assert places == pytest.approx([0, math.log(5) / math.log(25), 1])


def test_heights_are_proportional_to_the_accuracy() -> None:
    page = drawn({1: 0.0, 5: 0.5, 20: 1.0}, floor=0.5)
    low, half, high = (float(c["cy"]) for c in page.all("circle"))
    assert low - half == pytest.approx(half - high)
    [floor] = page.all("line", "floor")
    assert float(floor["y1"]) == float(floor["y2"]) == pytest.approx(half)


def test_one_point_and_none() -> None:
    assert len(list(drawn({1: 0.5}).all("circle"))) == 1
    assert not list(drawn({}).all("circle"))
