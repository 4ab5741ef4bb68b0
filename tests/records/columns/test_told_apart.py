"""How many rows stand alone in some columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from withhold.records.columns.told_apart import told_apart

TABLE = pa.table(
    {
        "ward": ["a", "a", None, None, "b", "b"],
        "bed": [1.0, 2.0, None, None, 3.0, 3.0],
        "seen": [[1], [1], [2], [2], [1], [3]],
    }
)


@pytest.mark.parametrize(
    ("columns", "alone"),
    [(["ward"], 0), (["bed"], 2), (["ward", "bed"], 2), (["seen"], 1), (["none"], 0), ([], 0)],
)
def test_a_missing_value_is_like_other_missing_ones(columns: list[str], alone: int) -> None:
    assert told_apart(TABLE, columns) == pytest.approx(alone / 6)
