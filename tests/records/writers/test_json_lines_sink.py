from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.writers import open_sink


def test_lines_are_plain_json(tmp_path, write):
    table = pa.table(
        {
            "x": pa.array([[0.1, 2.0], None], pa.list_(pa.float32(), 2)),
            "half": pa.array([0.5, None], pa.float16()),
            "who": pa.array(["ü\n", None]).dictionary_encode(),
            "day": pa.array([dt.date(2024, 2, 29), None]),
            "at": pa.array([dt.datetime(2024, 1, 1, 12), None], pa.timestamp("ns")),
            "nan": [float("nan"), 1.5],
        }
    )
    path = write(table, tmp_path / "t.jsonl")
    first, second = path.read_text(encoding="utf-8").splitlines()
    assert first == (
        '{"x":[0.1,2.0],"half":0.5,"who":"ü\\n","day":"2024-02-29","at":"2024-01-01T12:00:00",'
        '"nan":null}'
    )
    assert json.loads(second) == {
        **dict.fromkeys(["x", "half", "who", "day", "at"]),
        "nan": 1.5,
    }


def test_slices_of_lists(tmp_path, write):
    """A sliced batch keeps the buffers of the whole."""
    table = pa.table({"x": pa.array([[1], None, [2, 3], [], [4]], pa.list_(pa.int64()))})
    path = write(table.slice(1, 3), tmp_path / "t.jsonl")
    assert path.read_text() == '{"x":null}\n{"x":[2,3]}\n{"x":[]}\n'


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.struct([("a", pa.int64())]), pa.list_(pa.list_(pa.int8()))]
)
def test_what_cannot_be_held(tmp_path, kind):
    with pytest.raises(UserError, match=r"cannot hold column 'v'.*write \.parquet"):
        open_sink(tmp_path / "t.jsonl", pa.schema([("v", kind)]))


def test_an_infinite_number(tmp_path, write):
    with pytest.raises(UserError, match="an infinite number of column 'v'"):
        write(pa.table({"v": [1.0, float("inf")]}), tmp_path / "t.jsonl")
    assert not list(tmp_path.iterdir())
