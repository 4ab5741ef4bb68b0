"""`release-memory` on a few hundred records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from withhold.bench import find_recipe
from withhold.bench.release_memory import ReleaseRow, measure, write_records
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset

QUICK = {"codes": 8, "scores": "metric", "rounds": 1, "exact_rounds": 0, "epochs": 1}


def test_the_records_hold_what_is_suppressed(tmp_path: Path) -> None:
    write_records(tmp_path / "some.parquet", 300, 6, progress=Silent())
    data = Dataset.read(tmp_path / "some.parquet")
    assert data.x.shape == (300, 6)
    assert [len(data.attribute(n).classes) for n in ("two", "ten")] == [2, 10]
    assert find_recipe("release-memory").kind == "release-memory"


@pytest.mark.slow
def test_a_row_has_memory_time_and_what_is_proved(tmp_path: Path) -> None:
    result = measure(
        tmp_path, QUICK, progress=Silent(), records=(400,), features=4, secrets=("two",)
    )
    (row,) = result.rows
    assert row.records == 400
    assert 0.1 < row.alone < 4
    assert row.processor > 0
    assert row.plan == pytest.approx(row.floor, abs=1e-6)
    assert row.unequal < 1e-6
    written = json.loads((tmp_path / "release-memory.json").read_text())
    assert [ReleaseRow(**r) for r in written["rows"]] == result.rows
    assert {p.name for p in tmp_path.iterdir()} == {"release-memory.json", "table.md"}
