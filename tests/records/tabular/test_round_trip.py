"""A table in every format: made rows come back with its columns, types, values and gaps."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from withhold.records.readers import open_source
from withhold.records.tabular import RowMaker, TableColumns, describe_columns
from withhold.records.writers import open_sink

ROWS, LEAST, CODES = 240, 3, 4
DAY = date(2020, 1, 1)
# What people keep in tables: name, type and the values that occur.
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "count": (pa.int64(), [0, 1, 2, 3, 17]),
    "money": (pa.float64(), [0.25, 1.5, 19.99, -3.75]),
    "flag": (pa.bool_(), [True, False]),
    "word": (pa.string(), ["a", "b c", "naïve", "工"]),
    "odd, word": (pa.string(), ["x, y", 'say "hi"', "semi;colon", "tab\there"]),
    "code": (pa.string(), ["007", "012", "099"]),
    "text day": (pa.string(), [(DAY + timedelta(days=i)).isoformat() for i in range(20)]),
    "text time": (pa.string(), [f"2021-03-0{i} 08:1{i}:00" for i in range(1, 9)]),
}
TYPED: dict[str, tuple[pa.DataType, list[Any]]] = {
    "day": (pa.date32(), [DAY + timedelta(days=i) for i in range(20)]),
    "moment": (pa.timestamp("us"), [datetime(2020, 1, 1, i, 30) for i in range(12)]),
}
FORMATS = {
    ".csv": COLUMNS,
    ".tsv": COLUMNS,
    ".csv.gz": COLUMNS,
    ".jsonl": COLUMNS,
    ".parquet": COLUMNS | TYPED,
    ".xlsx": COLUMNS | TYPED,
}


@st.composite
def tables(draw: st.DrawFn, columns: dict[str, tuple[pa.DataType, list[Any]]]) -> pa.Table:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, unique=True))
    made = {}
    for name in names:
        kind, values = columns[name]
        share = draw(st.sampled_from([0.0, 0.1, 0.4]))
        taken = [values[i] for i in rng.integers(0, len(values), ROWS)]
        made[name] = pa.array(
            [None if g else v for v, g in zip(taken, rng.random(ROWS) < share, strict=True)], kind
        )
    made["row"] = pa.array(np.arange(ROWS) * 0.5 + 0.25)  # no row is blank
    return pa.table(made)


def _written(table: pa.Table, path: Path) -> pa.Table:
    """The table as its file says it."""
    with open_sink(path, table.schema) as sink:
        for batch in table.to_batches():
            sink.write(batch)
    source = open_source(path)
    return pa.Table.from_batches(list(source.batches()), source.schema)


def _made(table: pa.Table, columns: TableColumns, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CODES, ROWS)
    maker = RowMaker.of(table, columns, codes, number=CODES, people=np.arange(ROWS), least=LEAST)
    return maker.rows(codes, rng.random((ROWS, len(columns.columns))))


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_made_rows_have_the_schema_of_the_file(suffix: str, data: st.DataObject) -> None:
    table = data.draw(tables(FORMATS[suffix]))
    with TemporaryDirectory() as folder:
        before = _written(table, Path(folder) / f"before{suffix}")
        columns = describe_columns(before, name="t", leave_out=())
        assert not columns.dropped
        after = _written(_made(before, columns, 0), Path(folder) / f"after{suffix}")
    assert after.schema.equals(before.schema)
    for about in columns.columns:
        there, gone = after[about.name].drop_null(), after[about.name].null_count / ROWS
        assert abs(gone - about.missing) < 0.15
        if about.values is not None:
            assert set(there.to_pylist()) <= set(about.values)
        if about.name.startswith("text "):
            assert about.kind == "date"
            kinds = describe_columns(after.select([about.name]), name="t", leave_out=())
            assert kinds.columns[0].layout == about.layout
