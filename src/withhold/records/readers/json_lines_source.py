"""JSON Lines, plain or gzipped: one object per line. Types come from the whole file first."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from withhold.core.errors import UserError
from withhold.core.safe_read import reason
from withhold.records.readers.source import Source, check_table, one_line, reads
from withhold.records.readers.text_file import first_bytes, not_utf8, open_bytes
from withhold.records.readers.unpacked import check_unpacked, least_row_bytes
from withhold.records.readers.value_types import ValueTypes

_LINE_BYTES = 2**24  # the most of one line: half a million features with all their digits
_BLOCK_BYTES = 2**20


@reads(".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
class JsonLinesSource(Source):
    """Streams a file of JSON objects, one per line, in UTF-8. Blank lines are skipped.

    Opening reads the file once to find the columns (every key of any object, in order of
    appearance) and their types (`ValueTypes`). A key that an object lacks, null and NaN are missing
    values. Numbers, true/false, text and flat lists of these are read; text that is a date stays
    text. The file is read twice; memory stays at a few lines or one block.
    """

    by_column = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        types = ValueTypes(self.name, where="line")
        self.num_rows = unpacked = checked = 0
        self._check_start()
        for place, size, record in self._records():
            self.num_rows += 1
            unpacked += size
            if unpacked - checked >= _BLOCK_BYTES:
                check_unpacked(path, unpacked)
                checked = unpacked
            for column, value in record.items():
                types.add_column(column)
                types.add(column, value, place)
        self.schema = types.schema()
        check_table(self.name, self.schema, self.num_rows)
        check_unpacked(path, self.num_rows * least_row_bytes(self.schema))

    def _read(self, rows: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(column) for column in columns])
        # A short line may have many missing values, so rows count as well as bytes.
        most = max(1, min(rows, _BLOCK_BYTES // max(1, least_row_bytes(schema))))
        held: list[dict[str, Any]] = []
        size = 0
        for _, length, record in self._records():
            held.append(record)
            size += length
            if size >= _BLOCK_BYTES or len(held) >= most:
                yield self._batch(held, schema)
                held, size = [], 0
        if held:
            yield self._batch(held, schema)

    def _batch(self, records: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
        try:
            arrays = [
                # `from_pandas` turns a NaN into a missing value; in a list, it stays NaN.
                pa.array(
                    [record.get(field.name) for record in records],
                    field.type,
                    from_pandas=pa.types.is_floating(field.type),
                )
                for field in schema
            ]
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise UserError(
                f"{self.path} changed while it was read ({one_line(error)}); read it again"
            ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _records(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """The number of each line, its size in bytes, and its object."""
        try:
            with open_bytes(self.path) as file:
                place = 0
                while line := file.readline(_LINE_BYTES):
                    place += 1
                    if len(line) == _LINE_BYTES:
                        raise UserError(
                            f"{self.path} line {place} is longer than {_LINE_BYTES // 2**20} MiB;"
                            " write one object per line"
                        )
                    if line.strip():
                        yield place, len(line), self._object(line, place)
        except UnicodeDecodeError as error:
            raise not_utf8(self.path) from error
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{self.path} cannot be read: {reason(error)}") from error

    def _object(self, line: bytes, place: int) -> dict[str, Any]:
        text = line.decode("utf-8-sig" if place == 1 else "utf-8")
        try:
            found = _DECODER.decode(text)
        except RecursionError:
            raise self._broken(place, "it is nested too deeply") from None
        except ValueError as error:
            raise self._broken(place, reason(error)) from error
        if not isinstance(found, dict):
            raise self._broken(place, "it is not an object in braces")
        return found

    def _broken(self, place: int, why: str) -> UserError:
        return UserError(
            f"{self.path} line {place} is not a JSON object ({why}); correct or delete the line"
        )

    def _check_start(self) -> None:
        """Refuse one JSON document over many lines, which is not JSON Lines."""
        try:
            head = first_bytes(self.path, _BLOCK_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{self.path} cannot be read: {reason(error)}") from error
        first = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if first.startswith(b"[") or first.partition(b"\n")[0].strip() == b"{":
            raise UserError(
                f"{self.path} is one JSON document, not JSON Lines; write one object per line"
            )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the name '{twice}' twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
