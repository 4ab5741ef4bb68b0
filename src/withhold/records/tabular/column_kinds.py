"""What each column of a mixed table holds, and which columns cannot be encoded."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.records.arrow_kinds import is_text
from withhold.records.tabular.column_values import value_type, whole_numbers
from withhold.records.tabular.table_column import Kind, TableColumn, TableColumns, Value
from withhold.records.tabular.text_dates import date_layout, layout_step, parse_dates
from withhold.records.tabular.vector_features import is_vectors, vectors

MOST_PARSE = 0.9  # above this share of dates (or numbers), the other values are mistakes
MOSTLY_DISTINCT = 0.9  # distinct values per record, from which text is an identifier
LONG_TEXT = 40  # mean length in characters, from which text that seldom repeats is free text
_SHORT = 20  # characters of a value that may mean missing, such as "-" or "unknown"
FEWEST_COUNTED = 10  # records, from which integers that only count up are an identifier
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


def describe_columns(
    table: pa.Table,
    *,
    name: str,
    leave_out: Collection[str],
    categories: Collection[str] = (),
    least: int = 5,
) -> TableColumns:
    """Find the kind, the values and the range of every column except those of `leave_out`.

    `name` is the name of the table in error messages. Text columns named in `categories` are
    categories, whatever their values look like. Raise `UserError` for a text column in which
    almost all values are dates (or numbers) and some are not.
    """
    columns, dropped = [], {}
    for field in table.schema:
        if field.name in leave_out:
            continue
        if table.column_names.count(field.name) > 1:
            raise UserError(f"{name} has two columns '{field.name}'; rename one of them")
        try:
            columns.append(
                _described(
                    table[field.name],
                    _Place(field.name, name),
                    least=least,
                    as_category=field.name in categories,
                )
            )
        except _NotEncodedError as reason:
            dropped[field.name] = str(reason)
    return TableColumns(tuple(columns), dropped)


class _NotEncodedError(Exception):
    """Why a column is dropped."""


class _Place:
    """A column of a table, to name in errors."""

    def __init__(self, column: str, table: str) -> None:
        self.column, self.table = column, table

    def error(self, what: str, value: object, row: int, way_out: str) -> UserError:
        return UserError(
            f"column '{self.column}' of {self.table} {what}: record {row} (the first is 0) has"
            f" {value!r}; {way_out} (--drop {self.column})"
        )


def _described(
    column: pa.ChunkedArray, place: _Place, *, least: int, as_category: bool
) -> TableColumn:
    kind, types = column.type, pa.types
    if types.is_union(kind):
        raise UserError(
            f"column '{place.column}' of {place.table} mixes types ({kind}); give it one type or"
            " leave out the column"
        )
    if is_vectors(kind):
        lost = np.isnan(vectors(column))[:, 0]
        found: Kind = "constant" if lost.all() else "vector"
        return TableColumn(place.column, found, kind, missing=float(lost.sum()) / max(len(lost), 1))
    _refuse_unsupported(kind)
    gone = _plain(column).is_null(nan_is_null=True)
    missing = float(pc.mean(gone.cast(pa.float64())).as_py() or 0.0)
    if missing == 1.0 or not len(column):
        return TableColumn(place.column, "constant", kind, missing=1.0 if len(column) else 0.0)
    if types.is_boolean(kind) or types.is_dictionary(kind):
        return _listed(column, place.column, missing, least=least)
    if is_text(kind):
        dates = None if as_category else _text_dates(column, place, missing)
        return dates or _listed(column, place.column, missing, least=least)
    if types.is_floating(kind) or types.is_decimal(kind):
        return _number(column, place, missing)
    return _whole(column, place, missing)


def _refuse_unsupported(kind: pa.DataType) -> None:
    types, plain = pa.types, value_type(kind)
    simple = types.is_boolean(plain) or types.is_integer(plain) or is_text(plain)
    if types.is_dictionary(kind):
        encoded = simple or types.is_floating(plain)
    else:
        numbers = types.is_floating(plain) or types.is_decimal(plain)
        dates = types.is_temporal(plain) and not types.is_interval(plain)
        encoded = simple or numbers or dates or types.is_null(plain)
    if not encoded:
        raise _NotEncodedError(f"values of type {kind} cannot be encoded")


def _listed(column: pa.ChunkedArray, name: str, missing: float, *, least: int) -> TableColumn:
    """Booleans, text and dictionaries: the values in order (of the dictionary, else sorted)."""
    values, counts = _counted(column)
    kind: Kind = "boolean" if pa.types.is_boolean(column.type) else "category"
    if len(values) == 1 and missing == 0:
        kind = "constant"
    elif is_text(values.type):
        _refuse_text(values, counts)
    found = values.to_pylist()
    order = sorted(range(len(found)), key=lambda i: found[i])
    if pa.types.is_dictionary(column.type):
        rank = _dictionary_ranks(column)
        order = sorted(range(len(found)), key=lambda i: rank[found[i]])
    listed: tuple[Value, ...] = tuple(found[i] for i in order)
    rare = tuple(found[i] for i in order if counts[i] < least)
    return TableColumn(name, kind, column.type, values=listed, missing=missing, rare=rare)


def _dictionary_ranks(column: pa.ChunkedArray) -> dict[Any, int]:
    # Chunks may have different dictionaries.
    ranks: dict[Any, int] = {}
    for chunk in column.chunks:
        for value in chunk.dictionary.to_pylist():
            ranks.setdefault(value, len(ranks))
    return ranks


def is_free_text(column: pa.ChunkedArray) -> bool:
    """Whether a column holds long texts that seldom repeat."""
    return is_text(value_type(column.type)) and _is_free_text(*_counted(column))


def _is_free_text(values: pa.Array, counts: npt.NDArray[np.int64]) -> bool:
    records, distinct = int(counts.sum()), len(values)
    if distinct < 2:
        return False
    lengths = pc.utf8_length(values).to_numpy(zero_copy_only=False)
    return float(lengths @ counts) / records >= LONG_TEXT and distinct > records / 2


def _refuse_text(values: pa.Array, counts: npt.NDArray[np.int64]) -> None:
    records, distinct = int(counts.sum()), len(values)
    if distinct == 1:
        return
    if _is_free_text(values, counts):
        raise _NotEncodedError("free text: long values that seldom repeat")
    if distinct > MOSTLY_DISTINCT * records:
        raise _NotEncodedError(f"identifier: {distinct} different values in {records} records")


def _text_dates(column: pa.ChunkedArray, place: _Place, missing: float) -> TableColumn | None:
    """A column of ISO dates in text; None if it is an ordinary text column."""
    values, counts = _counted(column)
    records = int(counts.sum())
    layout, share = date_layout(values, counts)
    if share > MOST_PARSE:
        seconds = parse_dates(values)
        bad = seconds.is_null().to_numpy(zero_copy_only=False)
        if counts[bad].sum() < (1 - MOST_PARSE) * records:
            if bad.any():
                raise _first_bad(
                    column, values, bad, place, "does not parse as dates", "write it as YYYY-MM-DD"
                )
            low, high = int(pc.min(seconds).as_py()), int(pc.max(seconds).as_py())
            name, kind = place.column, column.type
            constant: Kind = "constant" if low == high and missing == 0 else "date"
            step = layout_step(layout)
            return TableColumn(name, constant, kind, None, low, high, step, missing, layout=layout)
        return None
    number = pc.match_substring_regex(values, _NUMBER).to_numpy(zero_copy_only=False)
    if MOST_PARSE < counts[number].sum() / records < 1:
        raise _first_bad(column, values, ~number, place, "mixes numbers and text", "correct it")
    return None


def _first_bad(
    column: pa.ChunkedArray,
    values: pa.Array,
    bad: npt.NDArray[np.bool_],
    place: _Place,
    what: str,
    way_out: str,
) -> UserError:
    wrong = pc.is_in(column.cast(values.type), value_set=values.filter(pa.array(bad)))
    row = int(pc.index(wrong, True).as_py())
    value = column[row].as_py()
    way_out += ", leave it empty"
    if len(value) <= _SHORT and not any(sign.isdigit() for sign in value):
        way_out += f" (pandas: read_csv(FILE, na_values=[{value!r}]))"
    return place.error(what, value, row, f"{way_out}, or leave out the column")


def _number(column: pa.ChunkedArray, place: _Place, missing: float) -> TableColumn:
    kind = column.type
    numbers = column.cast(pa.float64(), safe=False) if pa.types.is_decimal(kind) else column
    x = numbers.to_numpy()
    known = x[~np.isnan(x)]
    if np.isinf(known).any():
        row = int(np.argmax(np.isinf(x)))
        way_out = "write a number, leave it empty or leave out the column"
        raise place.error("is not finite", float(x[row]), row, way_out)
    low, high = float(known.min()), float(known.max())
    step = _decimal_step(known)
    if pa.types.is_decimal(kind):
        step = 10.0**-kind.scale
    found: Kind = "constant" if low == high and missing == 0 else "number"
    return TableColumn(place.column, found, kind, None, low, high, step, missing)


def _decimal_step(x: npt.NDArray[Any]) -> float | None:
    """1, 0.1, ... 0.000001: the largest of which all values are multiples."""
    with np.errstate(over="ignore", invalid="ignore"):
        for digits in range(7):
            if (np.round(x[:1000], digits) == x[:1000]).all() and (np.round(x, digits) == x).all():
                return float(10.0**-digits)
    return None


def _whole(column: pa.ChunkedArray, place: _Place, missing: float) -> TableColumn:
    kind = column.type
    values, present = whole_numbers(column)
    known = values[present]
    if kind == pa.uint64():
        low, high = int(known.view(np.uint64).min()), int(known.view(np.uint64).max())
    else:
        low, high = int(known.min()), int(known.max())
    if pa.types.is_integer(kind):
        if missing == 0:
            _refuse_counter(known, low, high)
        found: Kind = "integer"
        step = 1
    else:
        found, step = "date", _date_step(known, kind)
    if low == high and missing == 0:
        found = "constant"
    return TableColumn(place.column, found, kind, None, low, high, step, missing)


def _refuse_counter(x: npt.NDArray[np.int64], low: int, high: int) -> None:
    if len(x) < FEWEST_COUNTED:
        return
    fills_range = high - low + 1 == len(x)
    if (x[1:] > x[:-1]).all() or (fills_range and len(np.unique(x)) == len(x)):
        raise _NotEncodedError("identifier: integers that number the records")


def _date_step(x: npt.NDArray[np.int64], kind: pa.DataType) -> int:
    """The largest of day, hour, minute, second, ... of which all values are multiples."""
    if pa.types.is_date32(kind):
        return 1
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    steps = [86_400 * second, 3_600 * second, 60 * second, second]
    while steps[-1] > 1:
        steps.append(steps[-1] // 1000)
    return next(s for s in steps if (x % s == 0).all())


def _counted(column: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """The distinct values without missing, in their plain type, and the records of each."""
    pairs = pc.value_counts(_plain(column).drop_null())
    values, counts = pairs.field(0), pairs.field(1).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(values.type):
        known = ~np.isnan(values.to_numpy(zero_copy_only=False))
        return values.filter(pa.array(known)), counts[known]
    return values, counts


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = value_type(column.type)
    return column if column.type == kind else column.cast(kind)
