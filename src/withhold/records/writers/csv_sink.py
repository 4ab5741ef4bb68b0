"""Writing CSV, plain or gzipped."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from withhold.core.errors import UserError
from withhold.records.writers.sink import Sink, writes


@writes(".csv", ".csv.gz")
class CsvSink(Sink):
    """Writes a header and rows: text in quotes, missing values empty, gzip without a time stamp.

    CSV has no lists and no types. A list column is refused at once. Text such as `NA`, or digits,
    is read back as a missing value or a number.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        for field in schema:
            if pa.types.is_nested(field.type) or pa.types.is_large_binary(field.type):
                raise UserError(
                    f"{path} cannot hold column '{field.name}' ({field.type}): CSV has only"
                    " single values; write .parquet or .npz"
                )
        self._flat = pa.schema([field.with_type(_flat(field.type)) for field in schema])

    def _begin(self) -> None:
        self._stream: BinaryIO = self._file
        if self.name.lower().endswith(".gz"):
            packed = gzip.GzipFile(filename="", mode="wb", fileobj=self._file, mtime=0)
            self._stream = cast(BinaryIO, packed)
        self._writer = pacsv.CSVWriter(self._stream, self._flat)

    def _append(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch.cast(self._flat))

    def _finish(self) -> None:
        self._writer.close()
        if self._stream is not self._file:
            self._stream.close()

    def _release(self) -> None:
        with suppress(Exception):
            self._writer.close()
        self._stream.close()


def _flat(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _flat(kind.value_type)
    return pa.float32() if pa.types.is_float16(kind) else kind
