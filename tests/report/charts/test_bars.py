"""Bars: as wide as their accuracies, with the floor and the majority where they are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.reading import Page, share
from withhold.report.charts.bars import Bar, bars
from withhold.report.charts.meter import meter
from withhold.report.charts.strip import strip

shares = st.floats(0, 1)


def drawn(*values: float, floor: float = 0.1, majority: float = 0.1) -> Page:
    rows = [Bar(f"bar {v}", v, (max(v - 0.1, 0), min(v + 0.1, 1)), "informed") for v in values]
    return Page(bars(rows, floor=floor, majority=majority, title="t"))


@given(st.lists(shares, min_size=1, max_size=5))
def test_a_bar_is_as_wide_as_its_value(values: list[float]) -> None:
    widths = [share(bar["width"]) for bar in drawn(*values).all("rect", "bar")]
    assert widths == pytest.approx(values, abs=1e-6)


@given(shares, shares)
def test_marks_are_at_the_floor_and_the_majority(floor: float, majority: float) -> None:
    page = drawn(0.5, floor=floor, majority=majority)
    for kind, expected in (("floor", floor), ("majority", majority)):
        places = {share(mark["x1"]) for mark in page.all("line", kind)}
        assert len(places) == (1 if kind == "floor" or abs(floor - majority) >= 5e-4 else 0)
        assert all(place == pytest.approx(expected, abs=1e-6) for place in places)


def test_the_interval_is_drawn_from_end_to_end() -> None:
    low_high = [(share(w["x1"]), share(w["x2"])) for w in drawn(0.5).all("line", "whisker")]
    assert low_high == [(0.4, 0.6), (0.4, 0.4), (0.6, 0.6)]


def test_rows_do_not_overlap() -> None:
    page = drawn(0.1, 0.2, 0.3)
    tops = [float(t["y"]) for t in page.all("rect", "bar")]
    assert tops == sorted(tops)
    assert min(b - a for a, b in pairwise(tops)) > 30
    assert float(next(page.all("svg"))["height"]) > tops[-1]


def test_what_is_said_to_those_who_cannot_see() -> None:
    text = drawn(0.984, floor=0.0167, majority=0.0167).text
    assert "98.4 %, interval 88.4–100.0; floor 1.7 %; majority 1.7 %" in text


@given(shares, st.booleans())
def test_a_strip_has_its_dot_at_the_value(value: float, chosen: bool) -> None:
    page = Page(strip(value, (0.0, 1.0), floor=0.25, chosen=chosen))
    [dot] = page.all("circle")
    assert share(dot["cx"]) == pytest.approx(value, abs=1e-6)
    assert ("chosen" in dot["class"]) == chosen
    assert [m["x1"] for m in page.all("line", "mark")] == ["25%"]


def test_a_meter_marks_what_was() -> None:
    page = Page(meter(0.9, before=0.99))
    assert [b["width"] for b in page.all("rect", "bar")] == ["90%"]
    assert [m["x1"] for m in page.all("line", "before")] == ["99%"]
    assert not list(Page(meter(0.9, before=None)).all("line", "before"))


def test_what_is_no_number_stays_inside() -> None:
    nan = float("nan")
    page = Page(bars([Bar("x", nan, (nan, nan), "y")], floor=nan, majority=0.1, title=""))
    assert [b["width"] for b in page.all("rect", "bar")] == ["0%"]
    assert "nan" not in page.text
