"""Sinks for record batches: a file that appears complete under its name, or not at all."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self, TypeVar

import pyarrow as pa

from withhold.core.errors import UserError
from withhold.records.readers.source import known_suffix


class Sink(ABC):
    """A context manager that takes batches. At its normal end, the file appears under its name.

    Until then the rows are in `.<name>.partial` beside it. An exception inside the block, or a full
    disk, deletes that file and leaves an older file of the name as it was. If the name is a
    symbolic link, its target is replaced.

    A format implements `_begin`, `_append` and `_finish`, which write only to `self._file`.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.name = path.name
        self.path = path
        self.schema = schema
        self._final = Path(os.path.realpath(path))
        self._partial = self._final.with_name(f".{self._final.name}.partial")
        self._file: BinaryIO
        self._is_open = False

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch with the columns of `schema`."""
        if not self._is_open:
            raise ValueError(f"the sink for {self.name} is not open: use it in a `with` block")
        if not batch.schema.equals(self.schema, check_metadata=False):
            batch = batch.cast(self.schema)
        with self._told_plainly():
            self._append(batch)

    def __enter__(self) -> Self:
        with self._told_plainly():
            # Remove the partial file of a killed run; never follow it as a link or append to it.
            self._partial.unlink(missing_ok=True)
            self._file = self._partial.open("xb")
        self._is_open = True
        try:
            with self._told_plainly():
                self._begin()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                with self._told_plainly():
                    self._finish()
                    self._file.flush()
                    os.fsync(self._file.fileno())
                    self._file.close()
                    os.replace(self._partial, self._final)
                    _sync_folder(self._final.parent)
        finally:
            self._discard()

    @abstractmethod
    def _begin(self) -> None:
        """Write what comes before the rows."""

    @abstractmethod
    def _append(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch, or keep them for `_finish`."""

    @abstractmethod
    def _finish(self) -> None:
        """Write the rows that were kept, and what comes after the rows."""

    @abstractmethod
    def _release(self) -> None:
        """Drop writers that would otherwise write to the closed file when garbage-collected."""

    def _discard(self) -> None:
        """Delete everything that is not committed. Does nothing after a commit."""
        self._is_open = False
        with suppress(Exception):
            self._release()
        with suppress(OSError):
            # Closing flushes, which fails again on a full disk.
            self._file.close()
        with suppress(OSError):
            self._partial.unlink(missing_ok=True)

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise UserError(
                    f"the disk is full while writing {self.path}; free space in "
                    f"{self._final.parent} or write elsewhere"
                ) from error
            raise UserError(f"cannot write {self.path}: {error.strerror or error}") from error


def open_sink(
    path: str | os.PathLike[str],
    schema: pa.Schema,
    *,
    metadata: Mapping[bytes, bytes] | None = None,
    delimiter: str | None = None,
) -> Sink:
    """A sink for `path` by its suffix; `metadata` is added to the schema's own.

    Only Parquet can hold metadata; the other formats drop it. Only CSV has a delimiter; the other
    formats ignore it, so that a caller can pass that of the file it read.
    """
    path = Path(path)
    suffix = check_sink(path)
    if metadata:
        schema = schema.with_metadata({**(schema.metadata or {}), **metadata})
    if delimiter is not None and suffix.startswith((".csv", ".tsv")):
        from withhold.records.writers.csv_sink import CsvSink

        return CsvSink(path, schema, delimiter)
    return _SINKS[suffix](path, schema)


def check_sink(path: Path) -> str:
    """The suffix of a file to write; an error if it cannot be written."""
    suffix = known_suffix(path, _SINKS, "write")
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder; name a file inside it")
    if not folder.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"cannot write {path}: no permission to write in the folder {folder}")
    return suffix


_Writer = TypeVar("_Writer", bound=Callable[[Path, pa.Schema], Sink])
_SINKS: dict[str, Callable[[Path, pa.Schema], Sink]] = {}


def writes(*suffixes: str) -> Callable[[_Writer], _Writer]:
    """Register a class as the writer of these suffixes, e.g. `@writes(".csv")`."""

    def register(writer: _Writer) -> _Writer:
        for suffix in suffixes:
            _SINKS[suffix] = writer
        return writer

    return register


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut. Not every file system can sync a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
