"""Writing JSON Lines, plain or gzipped."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.records.arrow_kinds import is_bytes, is_list
from withhold.records.writers.gzip_stream import packed_stream
from withhold.records.writers.sink import Sink, writes

_ROWS = 1024  # of which Python objects exist at a time


@writes(".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
class JsonLinesSink(Sink):
    """Writes one object per line with every column; a missing value and a NaN are null.

    Dates and times become text (ISO 8601). A float32 is written with the digits that identify it
    as float32. JSON has no infinite number, so one is a UserError.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        for field in schema:
            kind = field.type.value_type if is_list(field.type) else field.type
            if pa.types.is_nested(kind) or is_bytes(kind) or pa.types.is_duration(kind):
                raise UserError(
                    f"{path} cannot hold column '{field.name}' ({field.type}): JSON Lines has only"
                    " numbers, text, true/false and lists of them; write .parquet"
                )

    def _begin(self) -> None:
        self._stream = packed_stream(self._file, self.name)

    def _append(self, batch: pa.RecordBatch) -> None:
        names = batch.schema.names
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            columns = [
                self._values(name, column)
                for name, column in zip(names, piece.columns, strict=True)
            ]
            lines = (
                json.dumps(
                    dict(zip(names, row, strict=True)),
                    ensure_ascii=False,
                    allow_nan=False,
                    separators=(",", ":"),
                )
                for row in zip(*columns, strict=True)
            )
            self._stream.write("".join(f"{line}\n" for line in lines).encode("utf-8"))

    def _finish(self) -> None:
        if self._stream is not self._file:
            self._stream.close()

    def _release(self) -> None:
        with suppress(Exception):
            self._stream.close()

    def _values(self, name: str, column: pa.Array) -> list[Any]:
        """Values of a column as JSON has them."""
        if is_list(column.type):
            flat = self._values(name, column.flatten())
            lengths = pc.list_value_length(column).to_pylist()
            ends = np.cumsum([length or 0 for length in lengths]).tolist()
            return [
                None if length is None else flat[end - length : end]
                for length, end in zip(lengths, ends, strict=True)
            ]
        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._values(name, column.cast(kind.value_type))
        if pa.types.is_floating(kind):
            return self._reals(name, column)
        if pa.types.is_decimal(kind):
            return [None if value is None else str(value) for value in column.to_pylist()]
        if pa.types.is_temporal(kind):
            # Python has no nanoseconds.
            if pa.types.is_timestamp(kind):
                column = column.cast(pa.timestamp("us", kind.tz), safe=False)
            elif pa.types.is_time64(kind):
                column = column.cast(pa.time64("us"), safe=False)
            return [None if value is None else value.isoformat() for value in column.to_pylist()]
        found: list[Any] = column.to_pylist()
        return found

    def _reals(self, name: str, column: pa.Array) -> list[Any]:
        if pc.any(pc.is_inf(column)).as_py():
            raise UserError(
                f"{self.path} cannot hold an infinite number of column '{name}'; correct it or"
                " write .parquet"
            )
        if not pa.types.is_float64(column.type):
            # The shortest text of a float32, read as a double, is the same float32 with few digits.
            column = column.cast(pa.float32()).cast(pa.string()).cast(pa.float64())
        return pc.if_else(pc.is_nan(column), None, column).to_pylist()  # type: ignore[no-any-return]
