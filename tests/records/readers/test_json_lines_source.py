from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source, unpacked


def lines(tmp_path, *records) -> str:
    """A file with these lines; what is not text is written as JSON."""
    path = tmp_path / "t.jsonl"
    text = "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records)
    path.write_text(text, encoding="utf-8")
    return path


def said(path) -> str:
    with pytest.raises(UserError) as caught:
        open_source(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson.gz"])
def test_round_trip_with_nulls(tmp_path, suffix, write, read, wide_table, list_table):
    assert read(write(wide_table, tmp_path / f"t{suffix}", rows=7)).equals(wide_table)
    back = read(write(list_table, tmp_path / f"u{suffix}", rows=7))
    assert back.schema.field("x").type == pa.list_(pa.float64(), 3)
    # JSON has no float32: the digits of one identify it.
    assert back.cast(list_table.schema).equals(list_table)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], pa.int64()),
        ([1, None, -2], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([2.5, 1], pa.float64()),
        ([1.0, 2.0], pa.float64()),
        ([2**60, 1], pa.int64()),
        ([True, None], pa.bool_()),
        (["007", "1"], pa.string()),
        (["2024-01-01", "2024-01-02"], pa.string()),
        ([None, None], pa.string()),
        ([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
        ([[1, 2.5], None], pa.list_(pa.float64(), 2)),
        ([[1], [2, 3]], pa.list_(pa.int64())),
        ([["a", "b"], ["c", "d"]], pa.list_(pa.string())),
        ([[], ["a"]], pa.list_(pa.string())),
        ([[True], [False]], pa.list_(pa.bool_())),
        ([[], []], pa.list_(pa.float64())),
    ],
)
def test_types(tmp_path, read, values, kind):
    got = read(lines(tmp_path, *({"k": 0, "v": v} for v in values)))
    assert got.schema.field("v").type == kind
    assert got["v"].to_pylist() == values


def test_a_late_value_widens_the_type(tmp_path, read):
    got = read(lines(tmp_path, *({"v": i} for i in range(5000)), {"v": 0.5, "late": "x"}))
    assert got.schema.types == [pa.float64(), pa.string()]
    assert got["v"].to_pylist()[-2:] == [4999.0, 0.5]
    assert got["late"].null_count == 5000


def test_missing_keys_blank_lines_nan_and_a_byte_order_mark(tmp_path, read):
    path = lines(tmp_path, '﻿{"a": 1, "b": NaN}', "", '{"b": 2.5}', "  ", '{"c": "ü"}')
    assert read(path).to_pydict() == {
        "a": [1, None, None],
        "b": [None, 2.5, None],
        "c": [None, None, "ü"],
    }


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (1, "x", "an integer on line 2 and text on line 4"),
        ("x", 1.5, "text on line 2 and a real number on line 4"),
        (True, 1, "true/false on line 2 and an integer on line 4"),
        (0.5, 2**60, "a real number on line 2 and an integer beyond 2^53 on line 4"),
        ([1], 1, "a list on line 2 and an integer on line 4"),
        ([1], ["a"], "in its lists: an integer on line 2 and text on line 4"),
    ],
)
def test_mixed_types(tmp_path, first, second, words):
    message = said(lines(tmp_path, {"v": None}, {"v": first}, "", {"v": second}))
    assert "column 'v' of t.jsonl mixes types" in message
    assert words in message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"v": 1,}', "line 2 is not a JSON object"),
        ('{"v": 1', "line 2 is not a JSON object"),
        ("v,w", "line 2 is not a JSON object"),
        ("[1, 2]", "line 2 is not a JSON object (it is not an object in braces)"),
        ('{"v": 1} {"v": 2}', "line 2 is not a JSON object"),
        ('{"v": 1, "v": 2}', "line 2 is not a JSON object (it has the name 'v' twice)"),
        ('{"v":' + "[" * 100_000, "line 2 is not a JSON object (it is nested too deeply)"),
        ('{"v": {"a": 1}}', "column 'v' of t.jsonl holds an object on line 2"),
        ('{"w": [[1]]}', "holds a list inside a list on line 2"),
        ('{"w": [{"a": 1}]}', "holds an object on line 2"),
        ('{"v": 123456789012345678901234567890}', "an integer beyond 64 bits on line 2"),
        ('{"w": "\\ud800"}', "column 'w' of t.jsonl holds text that is not valid Unicode"),
        ('{"\\ud800": 1}', "a name that is not valid text"),
    ],
)
def test_broken_lines(tmp_path, line, words):
    assert words in said(lines(tmp_path, {"v": 1}, line, {"v": 3}))


def test_one_document_is_not_json_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    for document in (json.dumps([{"a": 1}]), json.dumps({"a": 1}, indent=1)):
        path.write_text(document)
        assert "is one JSON document, not JSON Lines; write one object per line" in said(path)


def test_no_records(tmp_path):
    assert "has no rows" in said(lines(tmp_path, "", ""))
    assert "has no rows" in said(lines(tmp_path, {}, {}))


def test_gzip_cut_short(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:-10])
    assert "t.jsonl.gz cannot be read" in said(path)


def test_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacked, "FREE_BYTES", 2**20)
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 2**18))
    assert "unpack to" in said(path)
    path = tmp_path / "t.jsonl"  # every empty object is a row of 2,000 missing values
    path.write_text(json.dumps({f"c{i}": 1 for i in range(2000)}) + "\n" + "{}\n" * 10_000)
    assert "unpack to" in said(path)


def test_a_line_without_end(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": "' + b"x" * 2**24)
    assert "line 2 is longer than 16 MiB" in said(path)


def test_lists_of_numbers_are_features(tmp_path):
    data = Dataset.read(lines(tmp_path, *({"x": [i, i + 0.5], "y": i % 2} for i in range(6))))
    assert data.x.shape == (6, 2)
    assert data.x[3].tolist() == [3.0, 3.5]


def _values(column):
    return st.lists(st.none() | column, min_size=4, max_size=4)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    number=_values(st.integers(-(2**63), 2**63 - 1)),
    real=_values(st.floats(allow_nan=False, allow_infinity=False)),
    truth=_values(st.booleans()),
    text=_values(st.text(st.characters(exclude_categories=["Cs"]))),
    rows=st.integers(1, 5),
)
def test_what_is_written_is_read(tmp_path, write, read, number, real, truth, text, rows):
    table = pa.table(
        {
            "number": pa.array([7, *number], pa.int64()),
            "real": pa.array([0.5, *real], pa.float64()),
            "truth": pa.array([True, *truth], pa.bool_()),
            "text": pa.array(["", *text], pa.string()),
        }
    )
    assert read(write(table, tmp_path / "t.jsonl", rows=rows), rows=rows).equals(table)
