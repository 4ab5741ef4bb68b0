"""Numbers and dates that are written in another way, so they are read as text or wrongly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import listing
from withhold.records.arrow_kinds import is_list, is_text

_LOOKED_AT = 1000  # different values of a column
_FEWEST = 3  # of them, to say anything
_MOST = 0.9  # share of values that must look alike
_BEFORE = r"(?:[€$£¥]\s*|[A-Z]{3}\s+)?"
_AFTER = r"(?:\s*[€$£¥%]|\s+[A-Z]{3})?"  # letters stand apart: ABC123 is a code
_NUMBER = re.compile(
    rf"\s*{_BEFORE}[-+]?(?:\d+|\d{{1,3}}(?:[.,'\u2019\u00a0\u202f ]\d{{3}})+)(?:[.,]\d+)?"
    rf"{_AFTER}\s*"
)
_MARK = re.compile(r"[,€$£¥%]|\d\s+[A-Z]{3}\b|\b[A-Z]{3}\s+\d|\d\.\d{3}\.\d{3}")  # no code
_UNIT = re.compile(r"[€$£¥%A-Z]")
_THOUSANDS = re.compile(r"[^,]*(?:,\d{3})+(?!\d|,)")  # no decimal comma is followed by three digits
_DATE = re.compile(r"\s*\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?\s*")
_PLAIN = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")
_ISO_DATE = re.compile(r"\s*\d{4}-\d{2}-\d{2}(?:[ T]\d{1,2}:\d{2}.*)?\s*")


def misread_columns(table: pa.Table, names: Iterable[str]) -> dict[str, str]:
    """{column: what it holds, with an example, and how to write it} for the columns of `names`."""
    columns = list(names)
    found = {name: _misread(table[name]) for name in columns}
    if any("a comma" in said for said in found.values()):
        found |= {name: said for name in columns if (said := _thousands(table[name]))}
    return {name: said for name, said in found.items() if said}


def misread_notes(misread: Mapping[str, str], *, name: str) -> Iterator[str]:
    """A warning for each of the `misread_columns` of the table `name`."""
    for column, said in misread.items():
        yield f"warning: column '{column}' of {name} holds {said}"


def list_notes(table: pa.Table, names: Iterable[str], *, name: str) -> Iterator[str]:
    """A warning for each list column of the table `name`: it may hold the features."""
    for column in names:
        if is_list(table.schema.field(column).type):
            yield (
                f"warning: column '{column}' of {name} holds lists, which a table cannot; if they"
                f" are the features to release, add --features {column} (in Python:"
                f" Dataset.read(..., features='{column}'))"
            )


def _misread(column: pa.ChunkedArray) -> str:
    if not is_text(column.type):
        return ""
    values = pc.unique(column.drop_null()).slice(0, _LOOKED_AT).to_pylist()
    if len(values) < _FEWEST:
        return ""
    dates = [v for v in values if _DATE.fullmatch(v)]
    if dates and _mostly(_is_date(v) for v in values):
        other = next((v for v in values if _ISO_DATE.fullmatch(v)), None)
        shown = f"'{dates[0].strip()}'" + (f", '{other.strip()}'" if other else "")
        return f"dates ({shown}), which are read as text; write 2024-12-31"
    if _mostly(_is_number(v) for v in values) and any(_MARK.search(v) for v in values):
        example = next(v for v in values if _MARK.search(v)).strip()
        return (
            f"numbers with a comma or a unit ('{example}'), which are read as text; write 1234.5"
            f" (pandas: {_how_to_read(values)})"
        )
    return _partly(values, _ISO_DATE, "dates") or _partly(values, _PLAIN, "numbers")


def _how_to_read(values: list[str]) -> str:
    """How pandas reads numbers with commas or units."""
    units = "".join(sorted({sign for v in values for sign in _UNIT.findall(v)}))
    commas = [v for v in values if "," in v]
    if not commas:
        return f"df[COLUMN].str.strip('{units} ').astype(float)"
    how = "thousands=','" if all(map(_THOUSANDS.match, commas)) else "decimal=',', thousands='.'"
    return f"{'without the unit, ' if units else ''}read_csv(FILE, {how})"


def _partly(values: list[str], pattern: re.Pattern[str], what: str) -> str:
    """Whether almost all different values are dates (or numbers), and some are not."""
    fits = [pattern.fullmatch(v) is not None for v in values]
    other = [v.strip() for v, one in zip(values, fits, strict=True) if not one]
    if not other or not _mostly(fits):
        return ""
    example = next(v for v, one in zip(values, fits, strict=True) if one).strip()
    return (
        f"{what} ('{example}') and text ({listing([repr(v) for v in other[:3]])}), so it is read as"
        f" text; if the text means missing, leave it empty (pandas: read_csv(FILE,"
        f" na_values={other[:3]}))"
    )


def _thousands(column: pa.ChunkedArray) -> str:
    """Whether a column of a table with decimal commas seems to have points between thousands.

    All of its numbers would have up to three digits before the point, and three after it.
    """
    if not pa.types.is_floating(column.type):
        return ""
    x = pc.unique(column.drop_null()).slice(0, _LOOKED_AT).to_numpy(zero_copy_only=False)
    x = np.abs(x[x != 0])
    whole = np.isclose(1000 * x, np.round(1000 * x), rtol=0, atol=1e-6)
    if len(x) < _FEWEST or not (whole & (x >= 1) & (x < 1000)).all():
        return ""
    three = ~np.isclose(100 * x, np.round(100 * x), rtol=0, atol=1e-6)
    if three.mean() < 0.5:  # of random figures, nine of ten do not end with a zero
        return ""
    return (
        f"numbers with three digits after the point ({x[three][0]:.3f}), and other columns have"
        " decimal commas: if the point separates thousands, write 1234 (pandas: read_csv(FILE,"
        " decimal=',', thousands='.'))"
    )


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None or _ISO_DATE.fullmatch(text) is not None


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _mostly(each: Iterable[bool]) -> bool:
    found = list(each)
    return sum(found) > _MOST * len(found)
