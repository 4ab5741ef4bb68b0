"""Columns that travel with the records while an engine works, and never leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError

DIGEST = "__withhold_digest"  # of the row, under the key
NUMBER = "__withhold_number"  # of equal rows, how many came before
PLACE = "__withhold_place"  # rows leave sorted by it
COUNTS = "__withhold_counts"  # of a batch, in its first row: see `ReleaseCounts`
HIDDEN = (DIGEST, NUMBER, PLACE, COUNTS)


def check_names(names: Any, where: str) -> None:
    """Refuse data that has such a column already."""
    taken = [name for name in names if name in HIDDEN]
    if taken:
        raise UserError(f"{where} has a column '{taken[0]}', which a release uses; rename it")


def nonces_of(table: pa.Table, *, number: bool) -> npt.NDArray[np.uint64] | None:
    """Digest and, with `number`, number of each row: (n, 2); None if the table has no digests."""
    wanted = (DIGEST, NUMBER) if number else (DIGEST,)
    absent = [c for c in wanted if c not in table.column_names]
    if absent:
        if number:
            raise UserError(
                "rows of this bundle draw by themselves, so a batch needs the digest and the number"
                " of each row; use withhold.engines, which adds them"
            )
        return None
    columns = [signless(table[c]) for c in wanted]
    return np.stack(columns, axis=1)


def signed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """64-bit words as signed numbers in the same order: Spark has no unsigned ones."""
    return (words ^ np.uint64(1 << 63)).view(np.int64)


def signless(column: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """The words of a column that `signed` made."""
    values = column.to_numpy().astype(np.int64, copy=False)
    words: npt.NDArray[np.uint64] = values.view(np.uint64) ^ np.uint64(1 << 63)
    return words
