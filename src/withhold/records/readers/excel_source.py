"""Excel workbooks (.xlsx): the only sheet with data, its first row as header."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from withhold.core.errors import UserError, listing
from withhold.core.safe_read import open_regular
from withhold.records.readers.csv_source import MISSING
from withhold.records.readers.excel_archive import check_workbook
from withhold.records.readers.source import Source, check_table, one_line, reads
from withhold.records.readers.value_types import ValueTypes

_MOST_ROWS = 2**20  # of a sheet
_STEP = 1024
_NO_VALUE = {*MISSING, "#N/A"}
_ERRORS = {"#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"}

_Row = tuple[int, tuple[Any, ...]]


@reads(".xlsx")
class ExcelSource(Source):
    """Streams the rows of a workbook with openpyxl (the extra `excel`).

    The first row with values is the header. Blank rows are skipped. A formula counts as the value
    that was stored with it. Cells are numbers, true/false, text, dates (a date where every time of
    the column is midnight), times or durations. Blank cells, `#N/A` and the words that are missing
    in a CSV file are missing. Visible sheets come before hidden ones; data in several is refused.

    The file is parsed twice: first for the types of the columns (`ValueTypes`), then for the rows.
    """

    by_column = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        with _told_plainly(path):
            check_workbook(path)
            self._sheet = self._choose_sheet()
            self._survey()
        check_table(self.name, self.schema, self.num_rows)

    def _survey(self) -> None:
        rows = self._rows(self._sheet)
        header, cells = next(rows)
        self._places = [i for i, cell in enumerate(cells) if _header(cell)]
        names = [_header(cells[i]) for i in self._places]
        check_table(self.name, pa.schema([(name, pa.string()) for name in names]), None)
        types = ValueTypes(self.name, where="row")
        for name in names:
            types.add_column(name)
        known = {*self._places}
        self.num_rows = 0
        for number, cells in rows:
            self.num_rows += 1
            for i, cell in enumerate(cells):
                if cell is None:
                    continue
                if i not in known:
                    title = (
                        f"; if row {header} is a title, delete all rows above the column names"
                        if len(names) == 1
                        else "; name the column or clear the cell"
                    )
                    raise UserError(
                        f"{self.path} has a value in cell {_letters(i)}{number}, but no name for"
                        f" its column in row {header}{title}"
                    )
                if isinstance(cell, str) and cell in _ERRORS:
                    raise UserError(
                        f"{self.path} has the error {cell} in cell {_letters(i)}{number}; correct"
                        " or clear it"
                    )
            for name, i in zip(names, self._places, strict=True):
                types.add(name, _value(cells, i), number)
        self.schema = types.schema()
        self._refuse_formulas(
            [i for n, i in zip(names, self._places, strict=True) if types.is_empty(n)]
        )

    def _read(self, rows: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(column) for column in columns])
        places = [self._places[self.schema.get_field_index(column)] for column in columns]
        with _told_plainly(self.path):
            found = self._rows(self._sheet)
            next(found)
            while held := list(islice(found, min(rows, _STEP))):
                arrays = [
                    pa.array(
                        [_typed(_value(cells, i), field.type) for _, cells in held], field.type
                    )
                    for i, field in zip(places, schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _choose_sheet(self) -> str:
        with _opened(self.path) as book:
            sheets = [(str(sheet.title), sheet.sheet_state) for sheet in book.worksheets]
        for states in (("visible",), ("hidden", "veryHidden")):
            found = [
                title
                for title, state in sheets
                if state in states and next(self._rows(title), None) is not None
            ]
            if len(found) > 1:
                raise UserError(
                    f"{self.path} has data in several sheets: {listing(found)}; keep one, or save"
                    " the one you need as its own file"
                )
            if found:
                return found[0]
        raise UserError(f"{self.name} has no rows; nothing can be read from it")

    def _refuse_formulas(self, places: list[int]) -> None:
        """Refuse formulas without values: a program wrote them, and nothing computed them."""
        if not places:
            return
        for number, cells in self._rows(self._sheet, formulas=True):
            for i in places:
                cell = cells[i] if i < len(cells) else None
                if isinstance(cell, str) and cell.startswith("="):
                    raise UserError(
                        f"{self.path} has a formula without a stored value in cell"
                        f" {_letters(i)}{number}; open and save it in a spreadsheet program"
                    )

    def _rows(self, title: str, *, formulas: bool = False) -> Iterator[_Row]:
        """The rows with values: their number in the sheet, the first is 1, and their cells."""
        with _opened(self.path, formulas=formulas) as book:
            sheet = book[title]
            sheet.reset_dimensions()  # what a file says of its own size may be wrong
            with closing(sheet.iter_rows(values_only=True)) as rows:
                numbered = enumerate(rows, 1)
                while held := _quietly(numbered):
                    if held[-1][0] > _MOST_ROWS:
                        raise UserError(f"{self.path} has a row beyond {_MOST_ROWS:,}; delete it")
                    yield from (row for row in held if any(cell is not None for cell in row[1]))


@contextmanager
def _opened(path: Path, *, formulas: bool = False) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f'reading {path} needs the package openpyxl: pip install "withhold[excel]"'
        ) from error
    with open_regular(path) as file:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(
                file, read_only=True, data_only=not formulas, keep_links=False
            )
        with closing(book):
            yield book


def _quietly(rows: Iterator[_Row]) -> list[_Row]:
    """The next rows; openpyxl warns of what it does not read (validation, impossible dates)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(islice(rows, _STEP))


@contextmanager
def _told_plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # with a damaged file, openpyxl raises errors of any type
        raise UserError(
            f"{path} is not an Excel workbook, or is damaged; save it again ({one_line(error)})"
        ) from error


def _header(cell: Any) -> str:
    """The name in a cell of the header; empty if it has none."""
    return "" if cell is None or not str(cell).strip() else str(cell)


def _value(cells: tuple[Any, ...], place: int) -> Any:
    """A cell as a value; a date with the time midnight is a date."""
    cell = cells[place] if place < len(cells) else None
    if isinstance(cell, str):
        return None if cell.strip() in _NO_VALUE else cell
    if isinstance(cell, dt.datetime) and cell.time() == dt.time():
        return cell.date()
    return cell


def _typed(value: Any, kind: pa.DataType) -> Any:
    """A date in a column of dates with times is midnight of that day."""
    if pa.types.is_timestamp(kind) and value is not None and type(value) is dt.date:
        return dt.datetime.combine(value, dt.time())
    return value


def _letters(place: int) -> str:
    """The letters of a column, the first is 0: A, B, ..., Z, AA."""
    found = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        found = chr(65 + rest) + found
    return found
