"""Rows of the report's tables."""

from __future__ import annotations

import pytest

from report.pieces import evidence, found
from report.reading import Page
from withhold.audit.findings import Slice
from withhold.audit.intervals import wilson
from withhold.report import render
from withhold.report.card_tables import slices


def slice_of(by: str, value: str, right: int, records: int) -> Slice:
    return Slice(
        by=by, value=value, records=records, accuracy=right / records, ci=wilson(right, records)
    )


def rows(*made: Slice, role: str = "suppress") -> dict[str, tuple[int, float]]:
    table = slices(made, found(role, informed=0.5))  # type: ignore[arg-type]
    return {
        f"{r.slice.by} {r.slice.value}": (r.slice.records, r.slice.accuracy) for r in table.shown
    }


def test_rare_values_share_one_row() -> None:
    towns = [slice_of("town", f"t{i}", i % 2, 1) for i in range(50)]
    large = slice_of("town", "Lund", 30, 60)
    edge = slice_of("town", "Mora", 10, 20)
    made = rows(large, *towns, edge)
    assert made == {
        "town Lund": (60, 0.5),
        "town Mora": (20, 0.5),
        "town 50 others, each with fewer than 20 records": (50, 0.5),
    }


def test_the_shared_row_has_the_interval_of_all_its_records() -> None:
    made = [slice_of("town", "a", 18, 19), slice_of("town", "b", 1, 11)]
    table = slices([slice_of("town", "c", 10, 40), *made], found("suppress", informed=0.5))
    [row] = [r for r in table.shown if "others" in r.slice.value]
    assert row.slice.ci == wilson(19, 30)
    assert row.slice.accuracy == pytest.approx(19 / 30)
    assert table.total == 3
    # in its place among the others: worst first
    assert [r.slice.records for r in table.shown] == [30, 40]


def test_one_rare_value_keeps_its_name_and_attributes_are_apart() -> None:
    made = [
        slice_of("town", "a", 30, 60),
        slice_of("town", "b", 1, 3),
        *(slice_of("age", str(i), 1, 2) for i in range(30)),
    ]
    assert rows(*made) == {
        "town a": (60, 0.5),
        "town b": (3, pytest.approx(1 / 3)),
        "age 30 values, each with fewer than 20 records": (60, 0.5),
    }


def test_the_page_says_so() -> None:
    towns = tuple(slice_of("town", f"town-{i}", 1, 2) for i in range(40))
    made = found("suppress", informed=0.5).model_copy(update={"by_group": towns})
    text = Page(render(evidence({"speaker": made}))).text
    assert "40 values, each with fewer than 20 records" in text
    assert "town-7" not in text
