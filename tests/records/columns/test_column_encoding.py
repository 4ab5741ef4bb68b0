"""Every Arrow type can be encoded, and the encoding does not depend on chunks."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.columns.column_encoding import encode_column

DAY = datetime.date(2024, 2, 29)
COLUMNS = {
    "number": pa.array([1, None, 3, 3], pa.int64()),
    "float16": pa.array(np.array([1, np.nan, 3, 3], np.float16)),
    "infinite": pa.array([1.0, float("inf"), float("-inf"), float("nan")]),
    "huge": pa.array([1e308, -1e308, 1e-320, 0.0]),
    "large integers": pa.array([2**63 - 1, -(2**63), 0, 1]),
    "unsigned": pa.array([2**64 - 1, 0, 1, 2], pa.uint64()),
    "decimal": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("2.25"), None]),
    "bool": pa.array([True, False, None, True]),
    "text": pa.array(["a", "", None, "ä \U0001f600"]),
    "large text": pa.array(["a", "b", None, "c"], pa.large_string()),
    "dictionary": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "date": pa.array([DAY, None, DAY, datetime.date(1, 1, 1)]),
    "time": pa.array([datetime.time(1, 2, 3), None, datetime.time(4), datetime.time(5)]),
    "timestamp": pa.array([1, None, 3, 4], pa.timestamp("us", "UTC")),
    "duration": pa.array([1, None, 3, 4], pa.duration("ms")),
    "bytes": pa.array([b"", b"abc", None, b"\x00" * 100]),
    "fixed bytes": pa.array([b"abc", None, b"abd", b"abe"], pa.binary(3)),
    "list": pa.array([[1.0, 2.0], None, [], [3.0]]),
    "fixed list": pa.array([[1, 2], None, [3, 4], [5, None]], pa.list_(pa.int32(), 2)),
    "list of lists": pa.array([[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]]),
    "list of text": pa.array([["a"], None, [], ["b", "c"]]),
    "struct": pa.array([{"a": 1}, None, {"a": 2}, {"a": 1}]),
    "map": pa.array([[("a", 1)], None, [], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "null": pa.nulls(4),
    "nan": pa.array([float("nan")] * 4),
    "text view": pa.array(["a", "b", None, "c"], pa.string_view()),
    "uuid": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"a" * 16, b"b" * 16, None, b"a" * 16], pa.binary(16))
    ),
    "interval": pa.array([pa.MonthDayNano([i, 1, 1]) for i in range(3)] + [None]),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int32()), pa.array([1, 2])),
}


@pytest.mark.parametrize("name", list(COLUMNS))
def test_every_type_is_encoded_to_finite_numbers(name: str) -> None:
    column = COLUMNS[name]
    found = encode_column(pa.chunked_array([column]))
    assert found.x.dtype == np.float32
    assert found.x.shape[0] == len(found) == len(found.codes) == 4
    assert found.x.shape[1] >= 1
    assert np.isfinite(found.x).all()
    parts = pa.chunked_array([column.slice(0, 1), column.slice(1, 3)])
    again = encode_column(parts)
    np.testing.assert_array_equal(found.x, again.x)
    np.testing.assert_array_equal(found.codes, again.codes)
    assert found.kind == again.kind


def test_no_records() -> None:
    assert encode_column(pa.chunked_array([pa.array([], pa.float64())])).x.shape[0] == 0


def test_equal_values_have_equal_codes_and_missing_ones_minus_one() -> None:
    found = encode_column(pa.chunked_array([pa.array(["b", None, "a", "b"])]))
    assert found.codes.tolist() == [1, -1, 0, 1]
    assert found.distinct == 2
    assert found.rows(np.array([0, 3, 1])).codes.tolist() == [0, 0, -1]


def test_null_and_every_nan_have_codes_of_their_own() -> None:
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    found = encode_column(pa.array([None, 1.0, float("nan"), *bits, float("nan")]))
    assert found.codes[0] == -1
    assert found.codes[2] == found.codes[5]
    assert len(set(found.codes.tolist())) == 5
    assert found.distinct == 4
    assert encode_column(pa.array([float("nan"), None])).codes.tolist() == [0, -1]
