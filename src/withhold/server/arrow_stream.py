"""Arrow streams to Parquet and back, a batch at a time, so that memory does not grow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.atomic import writing_to
from withhold.core.errors import UserError
from withhold.core.safe_read import open_regular

_ROWS = 65_536  # of a batch that is written


def arrow_to_parquet(stream: Path, target: Path) -> None:
    """Write the batches of an Arrow stream, which may be hostile, to a Parquet file.

    Every batch is checked in full before it is used: offsets may point anywhere.
    """
    partial = target.with_name(f".{target.name}.partial")
    try:
        with (
            open_regular(stream) as file,
            _reading(),
            pa.ipc.open_stream(file) as reader,
            writing_to(target),
            pq.ParquetWriter(partial, reader.schema) as writer,
        ):
            for batch in _batches(reader):
                writer.write_batch(batch)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    partial.rename(target)


def _batches(reader: pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    while True:
        with _reading():
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            batch.validate(full=True)
        yield batch


@contextmanager
def _reading() -> Iterator[None]:
    """Arrow reports a stream that is cut short or nested too deeply as an OSError."""
    try:
        yield
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise UserError(
            "the upload is not an Arrow stream that can be read; write it with"
            " pyarrow.ipc.new_stream"
        ) from error


def parquet_to_arrow(table: Path, target: Path) -> None:
    """Write a Parquet file of our own as an Arrow stream."""
    partial = target.with_name(f".{target.name}.partial")
    with (
        writing_to(target),
        pq.ParquetFile(table) as file,
        pa.OSFile(str(partial), "wb") as out,
        pa.ipc.new_stream(out, file.schema_arrow) as sink,
    ):
        for batch in file.iter_batches(_ROWS):
            sink.write_batch(batch)
    partial.rename(target)
