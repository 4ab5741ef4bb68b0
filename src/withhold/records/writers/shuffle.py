"""Write rows in one order and read them in another. Memory does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.atomic import writing_to

BUCKET = 3 * 2**20  # approximate bytes of a bucket
MANY = 256  # maximal number of buckets
_PLACE = "\0place"
_ROWS = 4096


class Shuffle:
    """A context manager that takes batches with the place of each row, then returns them sorted.

    Places are divided into ranges. The rows of each range are in a file in `folder`, and are sorted
    in memory one range at a time. If there is only one range, its rows stay in memory.
    """

    def __init__(self, schema: pa.Schema, folder: Path, *, rows: int, size: int) -> None:
        self.schema = schema
        self.full = schema.append(pa.field(_PLACE, pa.int64()))
        self.folder, self.rows = folder, max(rows, 1)
        self.buckets = int(np.clip(-(-size // BUCKET), 1, min(MANY, self.rows)))
        self._held: list[pa.RecordBatch] = []
        self._stack = ExitStack()
        self._files: list[tuple[BinaryIO, Any]] = []

    def __enter__(self) -> Shuffle:
        if self.buckets > 1:
            for i in range(self.buckets):
                path = self._path(i)
                with writing_to(path):
                    file = self._stack.enter_context(path.open("xb"))
                self._files.append((file, pa.ipc.new_stream(file, self.full)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for i in range(len(self._files)):
            self._path(i).unlink(missing_ok=True)

    def write(self, batch: pa.RecordBatch, places: npt.NDArray[np.int64]) -> None:
        """Take rows; `places` (n,) are their places in the result."""
        if not batch.schema.equals(self.schema, check_metadata=False):
            batch = batch.cast(self.schema)
        batch = batch.append_column(pa.field(_PLACE, pa.int64()), pa.array(places))
        if not self._files:
            self._held.append(batch)
            return
        bucket = places * self.buckets // self.rows
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(self.buckets + 1))
        sorted_ = batch.take(pa.array(order))
        for i in np.unique(bucket):
            piece = sorted_.slice(int(ends[i]), int(ends[i + 1] - ends[i]))
            # Copied by `take`: a slice would write the buffers of the whole batch.
            piece = piece.take(pa.array(np.arange(len(piece))))
            with writing_to(self._path(int(i))):
                self._files[i][1].write_batch(piece)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in their places."""
        if not self._files:
            yield from self._sorted(self._held)
            return
        for i, (file, writer) in enumerate(self._files):
            with writing_to(self._path(i)):
                writer.close()
                file.close()
            with self._path(i).open("rb") as again:
                yield from self._sorted(list(pa.ipc.open_stream(again)))
            self._path(i).unlink()

    def _sorted(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not batches:
            return
        table = pa.Table.from_batches(batches, self.full)
        order = np.argsort(table[_PLACE].to_numpy(), kind="stable")
        for start in range(0, len(order), _ROWS):
            piece = table.take(pa.array(order[start : start + _ROWS])).drop_columns([_PLACE])
            yield from piece.combine_chunks().to_batches()

    def _path(self, i: int) -> Path:
        return self.folder / f"rows.{i:03d}.arrow"
