"""Writing Excel workbooks (.xlsx)."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.records.arrow_kinds import is_bytes
from withhold.records.writers.excel_parts import FIXED_PARTS, SHEET, SHEET_END, SHEET_START, STYLES
from withhold.records.writers.sink import Sink, writes

_MOST_ROWS, _MOST_COLUMNS = 2**20, 2**14  # of a sheet, with its header
_MOST_TEXT = 32_767
_MOST_DIGITS = 10**15  # Excel keeps 15 digits of a number
_FIRST_DAY = dt.datetime(1899, 12, 30)  # day 0, from March 1900 on
_FIRST_DATE = dt.datetime(1900, 3, 1)  # Excel counts a 29 February 1900
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ROWS = 1024  # of which Python objects exist at a time


@writes(".xlsx")
class ExcelSink(Sink):
    """Writes one sheet, a header and rows; a missing value and a NaN are blank cells.

    The parts of the workbook are written here and not by openpyxl, which needs a scratch file and
    records the time and the author. The bytes depend on the rows alone, and rows stream into the
    file. Text is stored as text, so a cell that starts with `=` is never a formula.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        for field in schema:
            if pa.types.is_nested(field.type) or is_bytes(field.type):
                raise UserError(
                    f"{path} cannot hold column '{field.name}' ({field.type}): Excel has only"
                    " single values; write .parquet or .jsonl"
                )
        if len(schema) > _MOST_COLUMNS:
            raise UserError(
                f"{path} cannot hold {len(schema):,} columns; Excel has at most {_MOST_COLUMNS:,},"
                " so write .parquet or .csv"
            )

    def _begin(self) -> None:
        self._archive = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)
        for name, content in FIXED_PARTS.items():
            with self._part(name) as part:
                part.write(content.encode())
        self._sheet = self._part(SHEET)
        self._sheet.write(SHEET_START.encode())
        self._rows = 0
        self._write_rows([[self._text(name, name)] for name in self.schema.names])

    def _append(self, batch: pa.RecordBatch) -> None:
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            columns = zip(batch.schema.names, piece.columns, strict=True)
            self._write_rows([self._cells(name, column) for name, column in columns])

    def _finish(self) -> None:
        self._sheet.write(SHEET_END.encode())
        self._sheet.close()
        self._archive.close()

    def _release(self) -> None:
        with suppress(Exception):
            self._sheet.close()
        with suppress(Exception):
            self._archive.close()

    def _part(self, name: str) -> IO[bytes]:
        info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return self._archive.open(info, "w", force_zip64=name == SHEET)

    def _write_rows(self, columns: list[list[str]]) -> None:
        rows = list(zip(*columns, strict=True))
        if self._rows + len(rows) > _MOST_ROWS:
            raise UserError(
                f"{self.path} cannot hold more than {_MOST_ROWS - 1:,} records; write .parquet or"
                " .csv"
            )
        self._rows += len(rows)
        self._sheet.write("".join(f"<row>{''.join(row)}</row>" for row in rows).encode("utf-8"))

    def _cells(self, name: str, column: pa.Array) -> list[str]:
        """The cells of a column as XML; a cell without content is blank."""
        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._cells(name, column.cast(kind.value_type))
        if pa.types.is_floating(kind):
            return self._numbers(name, _doubles(column))
        if pa.types.is_boolean(kind):
            return [_cell(value, 't="b"', str(int(value or 0))) for value in column.to_pylist()]
        if pa.types.is_integer(kind):
            return self._numbers(name, column)
        if pa.types.is_temporal(kind):
            return [self._time(name, value, kind) for value in _python_times(column)]
        return [
            "<c/>" if value is None else self._text(name, str(value))
            for value in column.to_pylist()
        ]

    def _numbers(self, name: str, column: pa.Array) -> list[str]:
        found = column.to_pylist()
        for value in found:
            if isinstance(value, int) and abs(value) >= _MOST_DIGITS:
                raise self._refusal(name, f"{value}, of which Excel keeps 15 digits")
            if value in (float("inf"), float("-inf")):
                raise self._refusal(name, "an infinite number")
        return ["<c/>" if v is None or v != v else f"<c><v>{v!r}</v></c>" for v in found]

    def _text(self, name: str, value: str) -> str:
        if len(value) > _MOST_TEXT:
            raise self._refusal(name, f"a text of more than {_MOST_TEXT:,} characters")
        if _UNWRITABLE.search(value):
            raise self._refusal(name, "a text with control characters")
        # XML would read a carriage return as a line feed.
        said = escape(value, {"\r": "&#13;"})
        return f'<c t="inlineStr"><is><t xml:space="preserve">{said}</t></is></c>'

    def _time(self, name: str, value: Any, kind: pa.DataType) -> str:
        """A count of days since the end of 1899, with a style that shows it as a date or a time."""
        if value is None:
            return "<c/>"
        if isinstance(value, dt.timedelta):
            return _styled(value / dt.timedelta(days=1), "duration")
        if isinstance(value, dt.time):
            since = dt.datetime.combine(_FIRST_DAY, value) - _FIRST_DAY
            return _styled(since / dt.timedelta(days=1), "time")
        moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        if moment.tzinfo is not None:
            raise self._refusal(name, f"times in the zone {kind.tz}")
        if moment < _FIRST_DATE:
            raise self._refusal(name, f"{value}, before March 1900")
        days = (moment - _FIRST_DAY) / dt.timedelta(days=1)
        if isinstance(value, dt.datetime):
            return _styled(days, "moment")
        return _styled(int(days), "date")

    def _refusal(self, name: str, what: str) -> UserError:
        return UserError(
            f"{self.path} cannot hold column '{name}': it has {what}; store it as text, or write"
            " .parquet or .csv"
        )


def _cell(value: Any, attributes: str, text: str) -> str:
    return "<c/>" if value is None else f"<c {attributes}><v>{text}</v></c>"


def _styled(days: float, style: str) -> str:
    return f'<c s="{STYLES[style]}"><v>{days!r}</v></c>'


def _doubles(column: pa.Array) -> pa.Array:
    if pa.types.is_float64(column.type):
        return column
    # The shortest text of a float32, read as a double, is the same float32 with few digits.
    return column.cast(pa.float32()).cast(pa.string()).cast(pa.float64())


def _python_times(column: pa.Array) -> list[Any]:
    """Python's dates and times, which have no nanoseconds."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = pc.cast(column, pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_time64(kind):
        column = pc.cast(column, pa.time64("us"), safe=False)
    elif pa.types.is_duration(kind):
        column = pc.cast(column, pa.duration("us"), safe=False)
    found: list[Any] = column.to_pylist()
    return found
