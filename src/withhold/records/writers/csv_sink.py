"""Writing CSV, plain or gzipped."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from withhold.core.errors import UserError
from withhold.records.readers.delimiter import checked_delimiter
from withhold.records.writers.gzip_stream import packed_stream
from withhold.records.writers.sink import Sink, writes

_IN_VALUES = " :+-./"  # may occur in a number or a time, which Arrow does not put in quotes


@writes(".csv", ".csv.gz", ".tsv", ".tsv.gz")
class CsvSink(Sink):
    """Writes a header and rows: text in quotes, missing values empty, gzip without a time stamp.

    CSV has no lists and no types. A list column is refused at once. Text such as `NA`, or digits,
    is read back as a missing value or a number. Fields are separated by `delimiter`; if it is None,
    by tabs in a `.tsv` and by commas in a `.csv`.
    """

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str | None = None) -> None:
        super().__init__(path, schema)
        usual = "\t" if self.name.lower().removesuffix(".gz").endswith(".tsv") else ","
        self.delimiter = usual if delimiter is None else checked_delimiter(delimiter)
        for field in schema:
            if pa.types.is_nested(field.type) or pa.types.is_large_binary(field.type):
                raise UserError(
                    f"{path} cannot hold column '{field.name}' ({field.type}): CSV has only"
                    " single values; write .parquet or .npz"
                )
        self._flat = pa.schema([field.with_type(_flat(field.type)) for field in schema])
        self._written = self._flat
        if self.delimiter in _IN_VALUES:
            self._written = pa.schema([field.with_type(pa.string()) for field in self._flat])

    def _begin(self) -> None:
        self._stream = packed_stream(self._file, self.name)
        options = pacsv.WriteOptions(delimiter=self.delimiter)
        self._writer = pacsv.CSVWriter(self._stream, self._written, write_options=options)

    def _append(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch.cast(self._flat).cast(self._written))

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
