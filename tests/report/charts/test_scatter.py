"""The map: every record a dot inside the picture, in the colour of its class."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from report.reading import Page
from withhold.report.charts.scatter import colouring, scatter

numbers = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(numbers, numbers), max_size=20))
def test_every_dot_is_inside(places: list[tuple[float, float]]) -> None:
    page = Page(scatter(places, [], title="t"))
    dots = [(float(d["cx"]), float(d["cy"])) for d in page.all("circle")]
    assert len(dots) == len(places)
    assert all(0 < x < 320 and 0 < y < 320 for x, y in dots)


def test_colours_follow_the_classes() -> None:
    labels = [0, 1, 1, -1]
    by = [colouring(0, "a", labels, ("no", "yes")), colouring(1, "b", [2, 2, 0, 0], tuple("xyz"))]
    page = Page(scatter([(0.0, 0.0)] * 4, by, title="t"))
    assert [d["class"] for d in page.all("circle")] == [
        "a0c0 a1c1",
        "a0c1 a1c1",
        "a0c1 a1c0",
        "a0o a1c0",
    ]
    assert by[0].legend == (("c0", "no"), ("c1", "yes"), ("o", "unknown"))
    assert by[1].legend == (("c0", "x"), ("c1", "z"))


def test_the_ninth_class_is_grey() -> None:
    labels = [label for label in range(12) for _ in range(20 - label)]
    by = colouring(0, "a", labels, [str(i) for i in range(12)])
    assert [name for _, name in by.legend] == [*map(str, range(8)), "4 others"]
    assert {c for c, label in zip(by.colours, labels, strict=True) if label >= 8} == {"o"}
