from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.records.readers import open_source
from withhold.records.writers.parquet_sink import _GROUP_BYTES

words = st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))
reals = st.one_of(st.none(), st.floats(width=32))
vectors = st.lists(st.floats(width=32), min_size=2, max_size=2)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    records=st.lists(st.tuples(vectors, words, reals, st.none() | st.booleans()), min_size=1),
    cut=st.integers(1, 9),
)
def test_what_goes_in_comes_out(records, cut, tmp_path, write, read):
    schema = pa.schema(
        [
            ("x", pa.list_(pa.float32(), 2)),
            ("word", pa.string()),
            ("real", pa.float32()),
            ("flag", pa.bool_()),
        ]
    )
    columns = [list(column) for column in zip(*records, strict=True)]
    table = pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
    again = read(write(table, tmp_path / "t.parquet", rows=cut), rows=cut)
    assert again.schema.equals(schema)
    # Compared as bytes, since NaN is not equal to itself.
    assert repr(again.to_pylist()) == repr(table.to_pylist())


def test_round_trip_with_nulls_and_metadata(tmp_path, write, read, list_table):
    list_table = list_table.replace_schema_metadata({"kept": "1", "told": "old"})
    path = write(list_table, tmp_path / "t.parquet", metadata={b"told": b"new"})
    again = read(path)
    assert again.equals(list_table)
    assert again.schema.metadata == {b"kept": b"1", b"told": b"new"}


def test_other_columns_survive(tmp_path, write, read):
    table = pa.table(
        {
            "f16": pa.array(np.float16([1.5, 2.5])),
            "day": pa.array([1, None], pa.date32()),
            "kind": pa.array(["a", None]).dictionary_encode(),
            "s": [{"p": 1.0, "q": "x"}, None],
            "labels": pa.array([[True, None], None], pa.list_(pa.bool_(), 2)),
            "raw": [b"\x00", b""],
        }
    )
    assert read(write(table, tmp_path / "t.parquet")).to_pylist() == table.to_pylist()


def test_columns_whose_name_starts_another(tmp_path, write, read):
    table = pa.table({"f": [1.0], "f.1": [2.0], "f.1.list": [3.0]})
    path = write(table, tmp_path / "t.parquet")
    assert read(path, columns=["f.1", "f"]).to_pydict() == {"f.1": [2.0], "f": [1.0]}


def test_views_are_read_as_plain_types(tmp_path, read):
    pq.write_table(pa.table({"s": pa.array(["a"], pa.string_view())}), tmp_path / "v.parquet")
    assert read(tmp_path / "v.parquet").schema.field("s").type == pa.large_string()


def test_row_groups_and_encodings(tmp_path, write):
    rows = 3 * _GROUP_BYTES // (4 * 2048 + 1) // 2
    x = np.zeros((rows, 2048), np.float32)
    table = pa.table(
        {
            "x": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 2048),
            "digit": pa.array(np.arange(rows) % 10, pa.int8()),
        }
    )
    metadata = pq.ParquetFile(write(table, tmp_path / "t.parquet", rows=1000)).metadata
    assert metadata.num_row_groups == 2
    group = metadata.row_group(0)
    assert 0.9 * _GROUP_BYTES < group.num_rows * (4 * 2048 + 1) <= _GROUP_BYTES
    assert "BYTE_STREAM_SPLIT" in group.column(0).encodings
    assert not group.column(0).has_dictionary_page
    assert group.column(1).has_dictionary_page
    assert {group.column(i).compression for i in (0, 1)} == {"ZSTD"}


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_cut_short(tmp_path, write, list_table, keep):
    path = write(list_table, tmp_path / "t.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(UserError, match=r"t.parquet is not a Parquet file, or was cut short"):
        open_source(path)


def test_damaged_inside(tmp_path, write, list_table):
    path = write(list_table, tmp_path / "t.parquet")
    whole = bytearray(path.read_bytes())
    whole[4:400] = bytes(396)
    path.write_bytes(whole)
    with pytest.raises(UserError, match=r"t.parquet is damaged after row 0"):
        list(open_source(path).batches())


def test_a_name_used_twice(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(UserError, match="more than one column named 'a'"):
        open_source(tmp_path / "t.parquet")
