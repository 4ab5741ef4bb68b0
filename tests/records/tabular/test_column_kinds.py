"""What a column is taken for, what is dropped and why, and the error lines."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.tabular import TableColumn, TableColumns, describe_columns


def described(**columns: Any) -> TableColumns:
    return describe_columns(pa.table(columns), name="people.csv", leave_out=[])


def one(values: Any) -> TableColumn:
    found = described(x=values)
    assert not found.dropped
    return found.columns[0]


def error_line(values: Any) -> str:
    with pytest.raises(UserError) as caught:
        described(city=values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, 1, 3], "integer"),
        ([0.5, None, 1.25], "number"),
        ([True, False, None], "boolean"),
        (["a", "b", "a", None], "category"),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "category"),
        (pa.array([7, 9, 7]).dictionary_encode(), "category"),
        ([date(2020, 1, 2), date(2021, 1, 2)], "date"),
        ([datetime(2020, 1, 2, 3), None, datetime(2021, 1, 2)], "date"),
        (["2020-01-02", "2020-02-03", None], "date"),
        ([Decimal("1.25"), Decimal("3.10")], "number"),
        ([4, 4, 4], "constant"),
        (["same", "same"], "constant"),
        ([None, None], "constant"),
        (pa.array([None, None], pa.int32()), "constant"),
        ([4, 4, None], "integer"),
    ],
)
def test_kinds(values: Any, kind: str) -> None:
    assert one(values).kind == kind


def test_ranges_steps_and_missing_shares() -> None:
    found = one([3, None, 9, 4])
    assert (found.low, found.high, found.step, found.missing) == (3, 9, 1, 0.25)
    assert one([3.0, 9.0, np.nan, 4.0]).step == 1
    assert one([3.0, 9.0, np.nan, 4.0]).missing == 0.25
    assert one([3.25, 9.5]).step == pytest.approx(0.01)
    assert one(np.random.default_rng(0).random(50)).step is None
    days = pa.array([datetime(2020, 1, 2), datetime(2020, 1, 5)], pa.timestamp("ns"))
    assert one(days).step == 86_400 * 10**9
    assert one([datetime(2020, 1, 2, 3), datetime(2020, 1, 2, 5)]).step == 3_600 * 10**6


def test_values_keep_the_order_of_a_dictionary_and_text_is_sorted() -> None:
    levels = pa.array(["low", "nobody", "high"])
    ordered = pa.DictionaryArray.from_arrays(pa.array([2, 0, 0, 2]), levels, ordered=True)
    assert one(ordered).values == ("low", "high")
    assert one(["low", "high", "low", "high"]).values == ("high", "low")


def test_chunks_with_different_dictionaries_and_missing_values_inside_them() -> None:
    parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    assert one(pa.chunked_array(parts)).values == ("b", "a", "c")
    inside = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2]), pa.array([1.5, np.nan, None]))
    assert (one(inside).values, one(inside).missing) == ((1.5,), 0.5)


def test_rare_values_are_named() -> None:
    assert one(["a"] * 5 + ["b"] * 4).rare == ("b",)


def test_identifiers_free_text_and_bytes_are_dropped() -> None:
    words = " ".join(["a long sentence about nothing"] * 3)
    found = described(
        mail=[f"p{i}@example.org" for i in range(20)],
        note=[f"{words} {i % 15}" for i in range(20)],
        row=list(range(100, 120)),
        mixed=np.random.default_rng(0).permutation(20),
        face=[b"x"] * 20,
        parts=[[1, 2]] * 20,
        age=[30 + i % 5 for i in range(20)],
    )
    assert [c.name for c in found.columns] == ["age"]
    assert found.dropped["mail"].startswith("identifier: 20 different values")
    assert found.dropped["note"].startswith("free text")
    assert found.dropped["row"] == found.dropped["mixed"]
    assert found.dropped["row"].startswith("identifier")
    assert "binary" in found.dropped["face"]
    assert "list" in found.dropped["parts"]


def test_columns_left_out_are_neither_encoded_nor_dropped() -> None:
    table = pa.table({"sex": ["f", "m"] * 5, "face": [b"x"] * 10})
    found = describe_columns(table, name="t", leave_out=["sex", "face"])
    assert found.columns == ()
    assert found.dropped == {}


def test_a_date_that_does_not_parse_is_named() -> None:
    days = [f"2020-01-{1 + i % 28:02d}" for i in range(30)]
    days[17] = "2020-02-30"
    line = error_line(days)
    for part in ("'city'", "people.csv", "record 17 (the first is 0)", "'2020-02-30'", "leave"):
        assert part in line
    assert "'soon'" in error_line([*days[:17], "soon", *days[18:]])


def test_mixed_numbers_and_text_are_named() -> None:
    line = error_line([str(i % 7) for i in range(29)] + ["unknown"])
    for part in ("'city'", "record 29 (the first is 0)", "'unknown'", "leave out the column"):
        assert part in line


def test_a_column_declared_as_categories_may_mix() -> None:
    codes = pa.table({"x": [str(i % 7) for i in range(29)] + ["V12"]})
    found = describe_columns(codes, name="t", leave_out=[], categories=["x"])
    assert found.columns[0].kind == "category"


def test_infinite_numbers_unions_and_repeated_names_are_refused() -> None:
    assert "record 1 (the first is 0) has inf" in error_line([1.5, np.inf, 2.0])
    union = pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    )
    assert "mixes types" in error_line(union)
    twice = pa.table([pa.array([1, 2]), pa.array([1, 2])], names=["a", "a"])
    with pytest.raises(UserError, match="two columns 'a'"):
        describe_columns(twice, name="t", leave_out=[])


def test_json_keeps_everything() -> None:
    ordered = pa.array(["a", "b", "a"]).dictionary_encode()
    when = pa.array([1, 5, None], pa.timestamp("ns", "Europe/Paris"))
    text = ["2020-01-02 03:04", "2020-01-02 03:05", None]
    for column in described(a=ordered, b=when, c=text, d=[1.5, 2.0, None]).columns:
        assert TableColumn.from_json(column.to_json()) == column
