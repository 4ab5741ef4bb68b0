"""CSV lists for people (names, errors, left-out files), in which no cell is a formula.

A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@`, and file names may come from
strangers. Such a cell gets a single quote in front of it, unless it is a number.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

# Some spreadsheets read the wide forms of the four signs as the signs, and skip a tab or a carriage
# return in front of a formula. A quote is quoted too, so that cells can be read back.
_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "'")


def as_csv(header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """A list as the bytes of a CSV file; keys that are not in the header are ignored."""
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(header)
    for row in rows:
        cells = [as_cell(str(row[name])) for name in header]
        # Before Python 3.13, csv leaves a carriage return unquoted, which ends the line.
        (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)
    return text.getvalue().encode(errors="replace")


def split_names(text: str) -> list[str]:
    """Names that are separated by commas; a name with a comma in it stands in double quotes.

    >>> split_names('age, "sex, as told"')
    ['age', 'sex, as told']
    """
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:  # a quote that is no quotation, as in 5" disks
        rows = [text.split(",")]
    return [name.strip() for name in (rows[0] if rows else []) if name.strip()]


def as_names(names: Iterable[str]) -> str:
    """Names as text from which `split_names` makes the same names.

    >>> as_names(["age", "sex, as told"])
    'age,"sex, as told"'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def as_cell(text: str) -> str:
    """Text as a cell that no spreadsheet runs.

    >>> as_cell("=1+1"), as_cell("-5"), as_cell("anna.png")
    ("'=1+1", '-5', 'anna.png')
    """
    return f"'{text}" if text.startswith(_STARTS) and not _is_number(text) else text


def from_cell(cell: str) -> str:
    """The text from which `as_cell` made the cell."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_STARTS) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text.strip() == text
