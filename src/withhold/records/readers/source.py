"""Sources of record batches: one interface for files and frames in memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.safe_read import open_regular
from withhold.records.readers.times import check_times, check_zones


class Source(ABC):
    """A table that can be read many times, a batch at a time.

    `by_column` says whether reading a few columns costs only those columns (Parquet) or the whole
    file (CSV).
    """

    name: str
    schema: pa.Schema
    num_rows: int
    by_column: bool = True

    def batches(
        self, *, rows: int = 4096, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches of exactly `rows` rows (the last may be shorter) with these columns."""
        for column in columns or ():
            if column not in self.schema.names:
                known = self.schema.names
                hint = did_you_mean(column, known) or f"; columns: {listing(known)}"
                raise UserError(f"column '{column}' is not in {self.name}{hint}")
        wanted = list(self.schema.names if columns is None else columns)
        return rebatch(self._read(rows, wanted), rows, name=self.name)

    @abstractmethod
    def _read(self, rows: int, columns: list[str]) -> Iterable[pa.RecordBatch]:
        """Batches of any size with these columns, in this order; about `rows` rows are wanted."""


def open_source(data: Any, *, delimiter: str | None = None) -> Source:
    """Open a path by its suffix, or a pandas, polars or Arrow frame. A Source is returned as it is.

    A file is checked: it must exist, be readable, have the format of its suffix, and have rows.
    `delimiter` separates the fields of a CSV file; it is guessed if it is None.
    """
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        reader = _SOURCES[known_suffix(path, _SOURCES, "read")]
        _check_readable(path)
        return reader(path) if delimiter is None else _open_csv(path, reader, delimiter)
    if delimiter is not None:
        raise UserError(f"delimiter {delimiter!r} is for a CSV file, not for data in memory")
    if hasattr(data, "batches") and hasattr(data, "schema"):
        source: Source = data
        return source
    from withhold.records.readers.frame import FrameSource

    return FrameSource(data)


def _open_csv(path: Path, reader: Callable[[Path], Source], delimiter: str) -> Source:
    from withhold.records.readers.csv_source import CsvSource

    if reader is not CsvSource:
        raise UserError(f"delimiter {delimiter!r} is for CSV files; {path.name} is not one")
    return CsvSource(path, delimiter)


_Reader = TypeVar("_Reader", bound=Callable[[Path], Source])
_SOURCES: dict[str, Callable[[Path], Source]] = {}


def reads(*suffixes: str) -> Callable[[_Reader], _Reader]:
    """Register a class as the reader of these suffixes, e.g. `@reads(".csv")`."""

    def register(reader: _Reader) -> _Reader:
        for suffix in suffixes:
            _SOURCES[suffix] = reader
        return reader

    return register


_UNREAD = {
    ".xls": "; save the workbook as .xlsx",
    ".xlsm": "; save the workbook as .xlsx",
    ".xlsb": "; save the workbook as .xlsx",
    ".ods": "; save the sheet as .xlsx",
    ".json": "; write one object per line and name it .jsonl",
    ".txt": "; if it is a table with a header line, name it .csv",
}


def known_suffix(path: Path, registry: Iterable[str], verb: str) -> str:
    """The longest registered suffix of `path`: `.csv.gz` before `.gz`."""
    found = [suffix for suffix in registry if path.name.lower().endswith(suffix)]
    if not found:
        way_out = _UNREAD.get(path.suffix.lower(), "") if verb == "read" else ""
        raise UserError(
            f"cannot {verb} {path}: the name must end in one of {', '.join(sorted(registry))}"
            f"{way_out}"
        )
    return max(found, key=len)


def check_table(name: str, schema: pa.Schema, num_rows: int | None) -> None:
    """Refuse a table without rows or columns, or with a repeated column name."""
    if num_rows == 0 or not schema.names:
        raise UserError(f"{name} has no rows; nothing can be read from it")
    twice = [column for column, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise UserError(f"{name} has more than one column named '{twice[0]}'; rename one of them")
    check_zones(schema, name)


def rebatch(
    batches: Iterable[pa.RecordBatch], rows: int, *, name: str = "the data"
) -> Iterator[pa.RecordBatch]:
    """Cut and join batches to `rows` rows each, so that nothing depends on the blocks of a file.

    Every reader calls this, so it also refuses values that nothing can use.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        check_times(batch, name)
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, rows - count)
            start += piece.num_rows
            count += piece.num_rows
            held.append(piece)
            if count == rows:
                yield from _joined(held)
                held, count = [], 0
    if held:
        yield from _joined(held)


def one_line(error: BaseException) -> str:
    """The first line of a library's message, without its full stop, to use in our own."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if len(batches) == 1:
        yield batches[0]
    else:
        yield from pa.Table.from_batches(batches).combine_chunks().to_batches()


def _check_readable(path: Path) -> None:
    try:
        if path.is_dir():
            raise UserError(f"{path} is a folder, not a file; name a file inside it")
        with open_regular(path) as file:
            empty = not file.read(1)
    except FileNotFoundError:
        near: list[str] = []
        with suppress(OSError):
            near = sorted(os.listdir(path.parent))
        raise UserError(f"no such file: {path}{did_you_mean(path.name, near)}") from None
    except PermissionError:
        raise UserError(
            f"{path} cannot be read: permission denied; ask its owner, or change its mode"
        ) from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    if empty:
        raise UserError(f"{path} is empty (0 bytes); write it again")
