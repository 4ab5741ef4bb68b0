"""Small tables, and the way in and out of a file, that the tests of every format share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.readers import open_source
from withhold.records.writers import open_sink


@pytest.fixture
def list_table() -> pa.Table:
    """A list column x and attributes with nulls."""
    rows, dimension = 50, 3
    x = np.random.default_rng(0).standard_normal((rows, dimension), dtype=np.float32)
    return pa.table(
        {
            "x": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), dimension),
            "speaker": [None if i % 7 == 3 else f"söker {i % 5}" for i in range(rows)],
            "age": pa.array([None if i % 5 == 2 else i for i in range(rows)], pa.int64()),
            "loud": pa.array([None if i % 9 == 4 else i % 2 == 0 for i in range(rows)]),
            "height": pa.array([None if i % 6 == 1 else i + 0.125 for i in range(rows)]),
        }
    )


@pytest.fixture
def wide_table(list_table: pa.Table) -> pa.Table:
    """The same with the features in columns f_0, f_1, f_2, as doubles."""
    x = np.array(list_table["x"].to_pylist())
    columns = {f"f_{i}": pa.array(x[:, i].copy()) for i in range(x.shape[1])}
    return pa.table(columns | {name: list_table[name] for name in list_table.column_names[1:]})


@pytest.fixture
def write() -> Callable[..., Path]:
    """Put a table into a file through its sink, `rows` rows at a time."""

    def put(table: pa.Table, path: Path, *, rows: int = 4096, **options: Any) -> Path:
        with open_sink(path, table.schema, **options) as sink:
            for batch in table.to_batches(max_chunksize=rows):
                sink.write(batch)
        return path

    return put


@pytest.fixture
def read() -> Callable[..., pa.Table]:
    """A whole source as one table, checking that its batches are as long as asked."""

    def get(data: Any, *, rows: int = 4096, columns: list[str] | None = None) -> pa.Table:
        source = open_source(data)
        batches = list(source.batches(rows=rows, columns=columns))
        assert all(batch.num_rows == rows for batch in batches[:-1])
        assert source.num_rows in (None, sum(batch.num_rows for batch in batches))
        return pa.Table.from_batches(batches)

    return get
