"""Parquet: the default format, read in small pieces for any layout of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.errors import UserError
from withhold.core.safe_read import open_regular
from withhold.records.readers.frame import without_views
from withhold.records.readers.parquet_pages import unpacked_pages
from withhold.records.readers.source import Source, check_table, one_line, reads
from withhold.records.readers.unpacked import check_unpacked, check_width, least_row_bytes

_DECODE_BYTES = 2**20
_STREAM_BYTES = 2**16


@reads(".parquet", ".pq")
class ParquetSource(Source):
    """Streams a Parquet file; memory depends on the batch, not on the file's row groups.

    Every column is read through a small buffered stream. A memory map would not help, because its
    pages count as resident memory. Without the stream, Arrow reads whole column chunks: in a file
    with one row group that is the whole file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        try:
            with self._open() as file:
                self.schema = without_views(file.schema_arrow)
                self.num_rows = file.metadata.num_rows
                unpacked = _unpacked(file.metadata, self.schema)
                with open_regular(path) as raw:
                    unpacked = max(unpacked, unpacked_pages(raw))
            ",".join(self.schema.names).encode()  # fails if a name is not valid text
        except Exception as error:  # with a damaged file, Arrow raises errors of any type
            raise UserError(
                f"{path} is not a Parquet file, or was cut short; write it again"
                f" ({one_line(error)})"
            ) from error
        check_table(self.name, self.schema, self.num_rows)
        check_width(self.name, len(self.schema))
        check_unpacked(path, unpacked)

    def _read(self, rows: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(column) for column in columns], self.schema.metadata)
        # The decoder holds several times what it decodes (levels, growing builders), so it
        # decodes less than a batch at a time.
        least = min(rows, 256)
        step = max(least, min(rows, _DECODE_BYTES // row_bytes(schema)))
        done = 0
        try:
            with self._open() as file:
                for batch in file.iter_batches(step, columns=columns, use_threads=False):
                    found = batch.select(columns).cast(schema)
                    found.validate(full=True)  # invalid UTF-8, indices beyond a dictionary
                    done += found.num_rows
                    if done > self.num_rows:
                        break
                    yield found
            if done != self.num_rows:
                raise ValueError(f"its footer says that it has {self.num_rows} rows")
        except Exception as error:
            raise UserError(
                f"{self.path} is damaged after row {done}; write it again ({one_line(error)})"
            ) from error

    def _open(self) -> pq.ParquetFile:
        return pq.ParquetFile(
            self.path, memory_map=False, pre_buffer=False, buffer_size=_STREAM_BYTES
        )


def _unpacked(metadata: pq.FileMetaData, schema: pa.Schema) -> int:
    """The larger of two estimates of the unpacked size in bytes: by chunks, and by rows."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    rows = [group.num_rows for group in groups]
    if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows:
        raise ValueError(f"{metadata.num_rows} rows, but {sum(rows)} in its row groups")
    chunks = sum(max(int(group.total_byte_size), 0) for group in groups)
    return max(chunks, int(metadata.num_rows) * least_row_bytes(schema))


def row_bytes(schema: pa.Schema) -> int:
    """The approximate bytes per row, from the schema alone."""
    return max(1, sum(_value_bytes(kind) for kind in schema.types))


def _value_bytes(kind: pa.DataType) -> int:
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _value_bytes(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return 512 * _value_bytes(kind.value_type)
    if pa.types.is_struct(kind):
        return sum(_value_bytes(kind.field(i).type) for i in range(kind.num_fields))
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 16
