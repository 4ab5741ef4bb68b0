"""One type per column for formats whose values carry types: JSON Lines and Excel."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from withhold.core.errors import UserError
from withhold.records.readers.unpacked import check_width

_BOOLEAN, _INTEGER, _LARGE = "true/false", "an integer", "an integer beyond 2^53"
_REAL, _TEXT, _LIST = "a real number", "text", "a list"
_DATE, _MOMENT, _TIME, _SPAN = "a date", "a date with a time", "a time of day", "a duration"

_ARROW = {
    _BOOLEAN: pa.bool_(),
    _INTEGER: pa.int64(),
    _LARGE: pa.int64(),
    _REAL: pa.float64(),
    _TEXT: pa.string(),
    _DATE: pa.date32(),
    _MOMENT: pa.timestamp("us"),
    _TIME: pa.time64("us"),
    _SPAN: pa.duration("us"),
}
_KINDS = {
    bool: _BOOLEAN,
    int: _INTEGER,
    float: _REAL,
    str: _TEXT,
    list: _LIST,
    dt.datetime: _MOMENT,
    dt.date: _DATE,
    dt.time: _TIME,
    dt.timedelta: _SPAN,
}
# A large integer does not widen to a real number: as a double it would be another number.
_WIDER = {
    frozenset((_INTEGER, _LARGE)): _LARGE,
    frozenset((_INTEGER, _REAL)): _REAL,
    frozenset((_DATE, _MOMENT)): _MOMENT,
}
_NUMBERS = (_INTEGER, _LARGE, _REAL)
_EXACT = 2**53


class ValueTypes:
    """The type of every column, widened over all values of a file.

    Integers widen to real numbers and dates to dates with a time. Any other mixture is a UserError
    that names the column, both types and where each was first seen. `where` is what `place` counts:
    "line" or "row". A list holds numbers, text or true/false; lists of numbers that all have one
    length d become `fixed_size_list[d]`, so that a reader knows the number of features.
    """

    def __init__(self, name: str, *, where: str) -> None:
        self.name, self.where = name, where
        self._columns: dict[str, _Column] = {}

    def add_column(self, name: str) -> None:
        """Add a column at the end, if there is none of this name yet."""
        if name not in self._columns:
            self._columns[name] = _Column()
            check_width(self.name, len(self._columns))
            if not _is_unicode(name):
                raise UserError(f"{self.name} has a column with a name that is not valid text")

    def add(self, name: str, value: Any, place: int) -> None:
        """Widen column `name` by the value on line or row `place`. None is a missing value."""
        column = self._columns[name]
        if value is None or value != value:  # NaN
            return
        column.outer = self._widened(column.outer, self._kind(value, name, place), name, place)
        if type(value) is list:
            self._add_list(column, value, name, place)

    def is_empty(self, name: str) -> bool:
        """Whether no value of a column was seen."""
        return self._columns[name].outer is None

    def schema(self) -> pa.Schema:
        """The columns in order of appearance; text for a column without values."""
        return pa.schema([(name, column.arrow()) for name, column in self._columns.items()])

    def _add_list(self, column: _Column, values: list[Any], name: str, place: int) -> None:
        column.length = len(values) if column.length in (None, len(values)) else -1
        types = set(map(type, values)) - {type(None)}
        if list in types:
            raise self._refusal(name, place, "a list inside a list", "write one flat list")
        if types == {float}:  # features: no call per value
            kinds = {_REAL}
        else:
            kinds = {self._kind(one, name, place) for one in values if one is not None}
        for kind in sorted(kinds):
            column.inner = self._widened(column.inner, kind, name, place, inside=" in its lists")

    def _kind(self, value: Any, name: str, place: int) -> str:
        kind = _KINDS.get(type(value))
        if kind is None:
            what = "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
            raise self._refusal(
                name, place, what, "give each of its values a column (pandas: json_normalize)"
            )
        if kind == _INTEGER and not -_EXACT <= value <= _EXACT:
            if not -(2**63) <= value < 2**63:
                raise self._refusal(name, place, "an integer beyond 64 bits", "write it as text")
            return _LARGE
        if kind == _TEXT and not _is_unicode(value):
            raise self._refusal(name, place, "text that is not valid Unicode", "correct it")
        return kind

    def _widened(
        self, old: _Seen | None, kind: str, name: str, place: int, *, inside: str = ""
    ) -> _Seen:
        if old is None:
            return _Seen(kind, place)
        if old.kind == kind:
            return old
        wider = _WIDER.get(frozenset((old.kind, kind)))
        if wider is None:
            raise UserError(
                f"column '{name}' of {self.name} mixes types{inside}: {old.kind} on {self.where}"
                f" {old.place} and {kind} on {self.where} {place}; give the column one type"
            )
        return old if wider == old.kind else _Seen(wider, place)

    def _refusal(self, name: str, place: int, what: str, way_out: str) -> UserError:
        return UserError(
            f"column '{name}' of {self.name} holds {what} on {self.where} {place}; {way_out}"
        )


@dataclass(frozen=True)
class _Seen:
    """A kind of value, and the line or row where it was first seen."""

    kind: str
    place: int


@dataclass
class _Column:
    """What is known of a column: of its values, and of the values in its lists."""

    outer: _Seen | None = None
    inner: _Seen | None = None
    length: int | None = None  # of all lists; -1 if they differ

    def arrow(self) -> pa.DataType:
        if self.outer is None:
            return pa.string()
        if self.outer.kind != _LIST:
            return _ARROW[self.outer.kind]
        if self.inner is None:
            return pa.list_(pa.float64())
        numbers = self.inner.kind in _NUMBERS and (self.length or 0) > 0
        return pa.list_(_ARROW[self.inner.kind], self.length if numbers else -1)


def _is_unicode(text: str) -> bool:
    """False for half of a surrogate pair, which an escape in JSON can write."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
