"""Numbers and dates that are read as text, since they are written in another way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from withhold.records.arrow_kinds import is_text

_LOOKED_AT = 1000  # different values of a column
_FEWEST = 3  # of them, to say anything
_MOST = 0.9  # share of values that must look alike
_BEFORE = r"(?:[€$£¥]\s*|[A-Z]{3}\s+)?"
_AFTER = r"(?:\s*[€$£¥%]|\s+[A-Z]{3})?"  # letters stand apart: ABC123 is a code
_NUMBER = re.compile(
    rf"\s*{_BEFORE}[-+]?(?:\d+|\d{{1,3}}(?:[.,'\u2019\u00a0\u202f ]\d{{3}})+)(?:[.,]\d+)?"
    rf"{_AFTER}\s*"
)
_MARK = re.compile(r"[,€$£¥%]|\d\s+[A-Z]{3}\b|\b[A-Z]{3}\s+\d")  # not just digits, as of a code
_DATE = re.compile(r"\s*\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?\s*")


def misread_columns(table: pa.Table, names: Iterable[str]) -> dict[str, str]:
    """{column: what it holds, with an example, and how to write it} for the columns of `names`."""
    found = {name: _misread(table[name]) for name in names}
    return {name: said for name, said in found.items() if said}


def misread_notes(table: pa.Table, names: Iterable[str], *, name: str) -> Iterator[str]:
    """A warning for each column of the table `name` that holds numbers or dates as text."""
    for column, said in misread_columns(table, names).items():
        yield f"warning: column '{column}' of {name} holds {said}"


def _misread(column: pa.ChunkedArray) -> str:
    if not is_text(column.type):
        return ""
    values = pc.unique(column.drop_null()).slice(0, _LOOKED_AT).to_pylist()
    if len(values) < _FEWEST:
        return ""
    if _mostly(_DATE.fullmatch(v) is not None for v in values):
        return f"dates ('{values[0].strip()}'), which are read as text; write 2024-12-31"
    if _mostly(_is_number(v) for v in values) and any(_MARK.search(v) for v in values):
        example = next(v for v in values if _MARK.search(v)).strip()
        return (
            f"numbers with a comma or a unit ('{example}'), which are read as text; write 1234.5"
            " (pandas: read_csv(FILE, decimal=',', thousands='.'))"
        )
    return ""


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _mostly(each: Iterable[bool]) -> bool:
    found = list(each)
    return sum(found) > _MOST * len(found)
