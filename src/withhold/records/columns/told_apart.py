"""How many rows some columns tell from all others: such columns may show whose a row is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.tables import encode_any


def told_apart(table: pa.Table, columns: Sequence[str]) -> float:
    """The share of the rows that no other row equals in these columns; missing equals missing."""
    there = [c for c in columns if c in table.column_names]
    if not there or not table.num_rows:
        return 0.0
    joint = np.stack([_codes(_flat(table[c])) for c in there], axis=1)
    counts = np.unique(joint, axis=0, return_counts=True)[1]
    return float((counts == 1).sum() / table.num_rows)


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Equal numbers for equal values, -1 for all missing ones."""
    missing = column.is_null().to_numpy()
    return np.where(missing, -1, encode_any(column))


def _flat(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists and structs as text: Arrow cannot number them."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([[repr(value) for value in column.to_pylist()]], pa.string())
