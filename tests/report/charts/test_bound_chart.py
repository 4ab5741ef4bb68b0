"""What was found below what is proved: all at its figures, on a scale that fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.reading import Page, share
from withhold.report.charts.bound_chart import limit, scale

shares = st.floats(0, 1)


def drawn(value: float, floor: float, bound: float) -> Page:
    ci = (max(value - 0.01, 0), min(value + 0.01, 1))
    return Page(limit(value, ci, floor=floor, bound=bound, title="t"))


@given(shares, shares, shares)
def test_everything_is_where_it_is(value: float, floor: float, bound: float) -> None:
    page = drawn(value, floor, bound)
    end = scale(value, min(value + 0.01, 1), floor, bound)
    assert share(next(page.all("rect", "bar"))["width"]) == pytest.approx(value / end, abs=1e-5)
    assert share(next(page.all("rect", "track"))["width"]) == pytest.approx(bound / end, abs=1e-5)
    for kind, expected in (("floor", floor), ("bound", bound)):
        for mark in page.all("line", kind):
            assert mark["x1"] == mark["x2"]
            assert share(mark["x1"]) == pytest.approx(expected / end, abs=1e-5)


@pytest.mark.parametrize(
    ("most", "end"), [(0.0, 0.02), (0.017, 0.02), (0.031, 0.05), (0.48, 1.0), (0.91, 1.0), (1, 1)]
)
def test_the_scale_is_round_and_has_room(most: float, end: float) -> None:
    assert scale(0.0, most) == end
    assert scale(float("nan"), most) == end


@pytest.mark.parametrize(
    ("floor", "bound", "lines"),
    [
        (0.02, 0.022, (0, 0)),  # each on its own side
        (0.0017, 0.004, (1, 0)),  # both to the right: the higher one first
        (0.8, 0.9, (0, 1)),  # both to the left: the lower one first
    ],
)
def test_no_mark_runs_through_a_name(floor: float, bound: float, lines: tuple[int, int]) -> None:
    page = drawn(floor, floor, bound)
    places = [float(t["y"]) for t in page.all("text", "marked")]
    first = min(places)
    assert tuple(round((y - first) / 17) for y in places) == lines


def test_what_is_said_to_those_who_cannot_see() -> None:
    text = drawn(0.019, 0.0167, 0.031).text
    assert (
        "Best attack found 1.9 %, interval 0.9–2.9; guessing 1.7 %; no attacker beyond 3.1 %"
        in (text)
    )
    assert "nothing is ruled out" in drawn(0.1, 0.1, 1.0).text
