"""Rows come back in their places, from memory and from disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.writers import shuffle
from withhold.records.writers.shuffle import Shuffle


@pytest.mark.parametrize("bucket", [1 << 30, 500, 1])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_rows_come_back_in_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket: int, n: int
) -> None:
    monkeypatch.setattr(shuffle, "BUCKET", bucket)
    rng = np.random.default_rng(n)
    table = pa.table({"a": np.arange(n), "b": [f"t{i}" for i in range(n)]})
    places = rng.permutation(n)
    with Shuffle(table.schema, tmp_path, rows=n, size=table.nbytes) as rows:
        start = 0
        for batch in table.to_batches(max_chunksize=13):
            rows.write(batch, places[start : start + len(batch)])
            start += len(batch)
        if bucket < table.nbytes and n > 1:
            assert any(tmp_path.iterdir())
        found = pa.Table.from_batches(list(rows.batches()))
    assert found.equals(table.take(pa.array(np.argsort(places))).combine_chunks())
    assert not any(tmp_path.iterdir())


def test_rows_that_are_lost_leave_gaps_but_no_disorder(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})
    with Shuffle(batch.schema, tmp_path, rows=10, size=100) as rows:
        rows.write(batch, np.array([9, 0, 5]))
        assert [v for b in rows.batches() for v in b["a"].to_pylist()] == [2, 3, 1]


def test_an_exception_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "BUCKET", 1)
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})

    def interrupted() -> None:
        with Shuffle(batch.schema, tmp_path, rows=3, size=100) as rows:
            rows.write(batch, np.array([0, 1, 2]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not any(tmp_path.iterdir())
