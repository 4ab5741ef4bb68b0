"""Limits on the size of a file in memory, checked before anything is allocated."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from withhold.core.errors import UserError

# Real features compress by a factor of 1 to 10, sparse ones by 100. A file beyond both limits is
# refused: otherwise a zip bomb of a few kilobytes would fill the memory.
FREE_BYTES = 2**30
MOST_RATIO = 200
MOST_COLUMNS = 2**16  # an empty column costs a reader about 10 kB
MOST_FEATURES = 2**20  # of one list column


def check_unpacked(path: Path, unpacked: int) -> None:
    """Refuse a file whose contents need implausibly more memory than its size."""
    packed = path.stat().st_size
    if unpacked > max(FREE_BYTES, MOST_RATIO * packed):
        raise UserError(
            f"{path} claims that its {packed:,} bytes unpack to {unpacked:,}, more than"
            f" {MOST_RATIO} times as many; if that is right, write it without compression"
        )


def check_width(name: str, columns: int) -> None:
    """Refuse a table with too many columns."""
    if columns > MOST_COLUMNS:
        raise UserError(
            f"{name} has {columns:,} columns; at most {MOST_COLUMNS:,} are read, so put features in"
            " one list column (Parquet) or one array of two dimensions (npz)"
        )


def least_row_bytes(schema: pa.Schema) -> int:
    """The least bytes that a row takes in memory, from the types alone."""
    return sum(_least(kind) for kind in schema.types)


def _least(kind: pa.DataType) -> int:
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _least(kind.value_type)
    if pa.types.is_struct(kind):
        return sum(_least(kind.field(i).type) for i in range(kind.num_fields))
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0 if pa.types.is_null(kind) else 4  # the offset of a list or a text
