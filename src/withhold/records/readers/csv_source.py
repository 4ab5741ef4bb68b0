"""CSV, plain or gzipped: wide columns only. Types are inferred from the whole file first."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from withhold.core.errors import UserError
from withhold.records.readers.csv_faults import endless_line, ragged_record
from withhold.records.readers.delimiter import (
    checked_delimiter,
    delimiter_words,
    guess_delimiter,
    set_delimiter,
)
from withhold.records.readers.source import Source, check_table, one_line, reads
from withhold.records.readers.text_file import first_bytes, not_utf8
from withhold.records.readers.unpacked import check_unpacked, check_width

MISSING = ["", "NA", "N/A", "n/a", "null", "NULL", "None", "nan", "NaN", "?"]
# Files with `a, b` have a space before the missing marker, too (UCI Adult: ` ?`).
_NULLS = MISSING + [f" {word}" for word in MISSING]
_TRUE, _FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
_BLOCK_BYTES = 2**20


@reads(".csv", ".csv.gz", ".tsv", ".tsv.gz")
class CsvSource(Source):
    """Streams a CSV file with a header line, in UTF-8.

    `delimiter` separates the fields. If it is None, a `.tsv` with a tab in its header has tabs, and
    for any other file it is guessed from the first lines (`guess_delimiter`).

    Arrow infers types from the first block alone and fails on the first later value that does
    not fit. So opening reads the file once as text to infer each column's type (integer, else
    real, else true/false, else text) from all its rows. That also counts the rows and finds ragged
    ones before any work is done. The file is read twice; memory stays at a few blocks.

    Integers with leading zeros (postcodes) or beyond 64 bits stay text, since they would change as
    numbers. Empty fields and NA, N/A, null, None, nan and ? are missing,
    in text columns and in quotes as well.
    """

    by_column = False

    def __init__(self, path: Path, delimiter: str | None = None) -> None:
        self.path = path
        self.name = path.name
        self.delimiter = "," if delimiter is None else checked_delimiter(delimiter)
        self._guess = delimiter is None
        types, rows = self._survey()
        self.schema = pa.schema(list(types.items()))
        self.num_rows = rows
        check_table(self.name, self.schema, rows)

    def _read(self, rows: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._parse({field.name: field.type for field in self.schema}, columns)

    def _survey(self) -> tuple[dict[str, pa.DataType], int]:
        names = self._header()
        types: dict[str, pa.DataType | None] = dict.fromkeys(names)
        rows = unpacked = 0
        for batch in self._parse(dict.fromkeys(names, pa.string()), names):
            rows += batch.num_rows
            unpacked += batch.nbytes
            check_unpacked(self.path, unpacked)
            for name, column in zip(names, batch.columns, strict=True):
                types[name] = _widened(types[name], column)
        return {name: kind or pa.string() for name, kind in types.items()}, rows

    def _header(self) -> list[str]:
        try:
            self._look_at_first_lines()
            with pacsv.open_csv(self.path, **self._options()) as reader:
                names: list[str] = reader.schema.names
        except (pa.ArrowException, OSError, UnicodeError, EOFError, zlib.error) as error:
            raise self._explain(error) from error
        check_table(self.name, reader.schema, None)
        return names

    def _look_at_first_lines(self) -> None:
        """Choose the delimiter. Refuse an implausible header: Arrow would allocate gigabytes."""
        head = first_bytes(self.path, _BLOCK_BYTES)
        line = head.partition(b"\n")[0]
        if self._guess:
            whole = len(head) < _BLOCK_BYTES
            sample = head.decode("utf-8-sig", "replace")
            is_tsv = self.name.lower().removesuffix(".gz").endswith(".tsv")
            tabs = is_tsv and b"\t" in line
            self.delimiter = "\t" if tabs else guess_delimiter(sample, whole=whole, name=self.name)
        check_width(self.name, 1 + line.count(self.delimiter.encode()))
        if not self._guess and self.delimiter.encode() not in line:
            self._refuse_delimiter(line.decode("utf-8-sig", "replace").strip())

    def _refuse_delimiter(self, header: str) -> None:
        """Refuse a delimiter of the user's that is not in the header, where another one is."""
        other = max(",;\t|", key=header.count)
        if other in header:
            raise UserError(
                f"{self.name} has no {delimiter_words(self.delimiter)} in its header, and"
                f" {delimiter_words(other)} instead; {set_delimiter(other)}"
            )

    def _parse(
        self, types: dict[str, pa.DataType], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        convert = pacsv.ConvertOptions(
            column_types=types,
            include_columns=list(columns),
            null_values=_NULLS,
            strings_can_be_null=True,
            true_values=_TRUE,
            false_values=_FALSE,
        )
        try:
            with pacsv.open_csv(self.path, convert_options=convert, **self._options()) as reader:
                yield from reader
        except (pa.ArrowException, OSError) as error:
            raise self._explain(error) from error

    def _options(self) -> dict[str, Any]:
        return {
            "read_options": pacsv.ReadOptions(block_size=_BLOCK_BYTES),
            "parse_options": pacsv.ParseOptions(newlines_in_values=True, delimiter=self.delimiter),
        }

    def _explain(self, error: Exception) -> UserError:
        said = one_line(error)
        if "Empty CSV" in said:
            return UserError(f"{self.name} has no rows; nothing can be read from it")
        if re.search(r"Expected \d+ columns, got \d+", said):
            return UserError(f"{self.path} {self._ragged()}")
        if "UTF8" in said or isinstance(error, UnicodeError):
            return not_utf8(self.path)
        if "straddling" in said:
            line = endless_line(self.path, self.delimiter)
            where = "" if line is None else f" from line {line} on"
            return UserError(
                f"{self.path} has a line of more than {_BLOCK_BYTES // 2**20} MiB{where}; is a"
                " quote left open? Parquet holds rows of any width"
            )
        return UserError(f"{self.path} cannot be read as CSV: {said}")

    def _ragged(self) -> str:
        words = delimiter_words(self.delimiter)
        other = "," if self.delimiter == ";" else ";"
        way_out = f"put fields that contain {words} in quotes"
        if self._guess:
            way_out += f"; if fields are not separated by {words}, {set_delimiter(other)}"
        found = ragged_record(self.path, self.delimiter)
        if found is None:
            return f"has rows with more or fewer fields than the header; {way_out}"
        if found.second and found.fields > found.width:
            way_out += "; if line 1 is a title, delete all lines above the column names"
        where, has = f"line {found.line}", "has"
        if found.last > found.line:
            where, has = f"lines {found.line} to {found.last}", "are one row of"
            way_out = f"is a quote left open on line {found.line}?"
        fields = f"{found.fields} field{'' if found.fields == 1 else 's'}"
        return f"{where} {has} {fields} where the header has {found.width}; {way_out}"


def _widened(kind: pa.DataType | None, column: pa.Array) -> pa.DataType | None:
    """The narrowest type that holds both what `kind` held and this block's text."""
    if kind == pa.string() or column.null_count == len(column):
        return kind
    if kind == pa.bool_():
        return kind if _all_in(column, _TRUE + _FALSE) else pa.string()
    if kind in (None, pa.int64()):
        if _casts(column, pa.int64()):
            return pa.string() if _any_match(column, r"^\s*[+-]?0[0-9]") else pa.int64()
        if kind is None and _all_in(column, _TRUE + _FALSE):
            return pa.bool_()
        # Twenty digits could be read as a double, but would change.
        if _any_match(column, r"^\s*[+-]?[0-9]{16,}\s*$"):
            return pa.string()
    return pa.float64() if _casts(column, pa.float64()) else pa.string()


def _casts(column: pa.Array, kind: pa.DataType, *, trimmed: bool = False) -> bool:
    try:
        pc.cast(column, kind)
    except pa.ArrowInvalid:
        # The CSV reader ignores spaces around a number; a cast does not.
        return not trimmed and _casts(pc.utf8_trim_whitespace(column), kind, trimmed=True)
    return True


def _all_in(column: pa.Array, words: list[str]) -> bool:
    return bool(pc.all(pc.is_in(column.drop_null(), pa.array(words))).as_py())


def _any_match(column: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())
