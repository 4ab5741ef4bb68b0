"""Plain values: whatever the encoding, the same values and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.plain import plain_column, plain_schema, plain_table, plain_type

WORDS = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0]), pa.array(["a", "b", "Anna"]))
OFFSETS = pa.array([0, 2, None, 3, 4], pa.int32())
NESTED = {
    "dictionary": WORDS,
    "list": pa.ListArray.from_arrays(OFFSETS, WORDS),
    "large list": pa.LargeListArray.from_arrays(pa.array([0, 2, 3, 3, 4]), WORDS),
    "fixed list": pa.FixedSizeListArray.from_arrays(WORDS, 2, mask=pa.array([True, False])),
    "struct": pa.StructArray.from_arrays([WORDS], ["k"], mask=pa.array([False, False, True, True])),
    "list of structs": pa.ListArray.from_arrays(
        OFFSETS, pa.StructArray.from_arrays([WORDS, WORDS], ["k", "l"])
    ),
    "map": pa.MapArray.from_arrays(
        pa.array([0, 1, 2, 4], pa.int32()), pa.array(["p", "q", "r", "s"]), WORDS
    ),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([5, 6])),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, None], pa.binary(16))),
    "view": pa.array(["a", None, "c"], pa.string_view()),
    "floats": pa.array([[1.0, None], None, [], [2.0]]),
    "empty": pa.array([], pa.list_(pa.string())),
}


@pytest.mark.parametrize("name", list(NESTED))
def test_values_stay_and_encodings_go(name: str) -> None:
    array = NESTED[name]
    stored = array.storage if name == "uuid" else array
    for part, expected in ((array, stored), (array[1:], stored[1:])):
        found = plain_column(pa.chunked_array([part]), one_missing=True)
        assert found.to_pylist() == expected.to_pylist()
        assert found.type == plain_type(array.type)
        found.validate(full=True)
        assert "dictionary" not in str(found.type)


def test_one_missing_value_at_any_depth() -> None:
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0], np.uint64).view(np.float64)
    flat = pa.array([None, *bits, float("nan")])
    columns = {
        "flat": flat,
        "float16": pa.array(np.array([np.nan] * 5, np.float16)),
        "list": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4, 5], pa.int32()), flat),
        "struct": pa.StructArray.from_arrays([flat], ["k"]),
        "map": pa.MapArray.from_arrays(
            pa.array([0, 1, 2, 3, 4, 5], pa.int32()), pa.array(list("abcde")), flat
        ),
    }
    found = plain_table(pa.table(columns), one_missing=True)
    assert found["flat"].to_pylist() == [None, None, None, 0.0, None]
    assert found["float16"].null_count == 5
    assert found["list"].to_pylist() == [[None], [None], [None], [0.0], [None]]
    assert [v["k"] for v in found["struct"].to_pylist()] == [None, None, None, 0.0, None]
    assert [v[0][1] for v in found["map"].to_pylist()] == [None, None, None, 0.0, None]
    assert plain_table(pa.table({"flat": flat}))["flat"].null_count == 1


def test_the_schema_has_no_metadata_at_any_depth() -> None:
    inner = pa.field("k", pa.float64(), nullable=False, metadata={"writer": "Anna"})
    schema = pa.schema([pa.field("s", pa.struct([inner]), metadata={"a": "b"})], {"pandas": "x"})
    found = plain_schema(schema)
    assert not found.metadata
    assert not found.field("s").metadata
    assert not found.field("s").type.field("k").metadata
    assert found.field("s").type.field("k").nullable
