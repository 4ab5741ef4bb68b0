"""Checks that dates and times fit into Python's types. In a damaged file they may not."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.records.arrow_kinds import is_list

_DAY = 86_400
_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# Seconds from 1970 to the years 1 and 9999, less two days for time zones.
_FIRST, _LAST = -719_160 * _DAY, 2_932_894 * _DAY
_LONGEST = 999_999_998 * _DAY  # of a duration


def check_zones(schema: pa.Schema, name: str) -> None:
    """Refuse a column of times in an unknown time zone."""
    for field in schema:
        for kind in _types(field.type):
            if not pa.types.is_timestamp(kind):
                continue
            zone: str | None = "?"
            try:
                zone = kind.tz
                if zone is not None:
                    pa.lib.string_to_tzinfo(zone)
            except Exception as error:  # errors of the time zone library, or invalid text
                raise UserError(
                    f"column '{field.name}' of {name} has times in the unknown time zone"
                    f" {(zone or '')[:40]!r}"
                ) from error


def check_times(batch: pa.RecordBatch, name: str) -> None:
    """Refuse a date, time or duration that Python cannot represent."""
    for field, column in zip(batch.schema, batch.columns, strict=True):
        for leaf in _leaves(column):
            bounds = _bounds(leaf.type)
            if bounds is None:
                continue
            width = pa.int32() if leaf.type.bit_width == 32 else pa.int64()
            found = pc.min_max(leaf.cast(width))
            low, high = found["min"].as_py(), found["max"].as_py()
            if low is not None and (low < bounds[0] or high > bounds[1]):
                raise UserError(
                    f"column '{field.name}' of {name} holds {leaf.type} values that are no date,"
                    f" time or duration in Python: {low} to {high}; correct them or drop the column"
                )


def _bounds(kind: pa.DataType) -> tuple[int, int] | None:
    """The smallest and the largest value that can be read, in the units of the type."""
    if pa.types.is_date32(kind):
        return _FIRST // _DAY, _LAST // _DAY
    if pa.types.is_date64(kind):
        return _FIRST * 1000, _LAST * 1000
    if pa.types.is_timestamp(kind):
        return _FIRST * _A_SECOND[kind.unit], _LAST * _A_SECOND[kind.unit]
    if pa.types.is_duration(kind):
        return -_LONGEST * _A_SECOND[kind.unit], _LONGEST * _A_SECOND[kind.unit]
    if pa.types.is_time(kind):
        return 0, _DAY * _A_SECOND[kind.unit] - 1
    return None


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    """The columns inside a column, without nesting."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        yield from _leaves(column.dictionary)
    elif pa.types.is_struct(kind):
        for part in column.flatten():
            yield from _leaves(part)
    elif pa.types.is_map(kind):
        yield from _leaves(column.keys)
        yield from _leaves(column.items)
    elif is_list(kind):
        if pa.types.is_nested(kind.value_type) or pa.types.is_temporal(kind.value_type):
            yield from _leaves(column.flatten())
    else:
        yield column


def _types(kind: pa.DataType) -> Iterator[pa.DataType]:
    """A type and those inside it."""
    if pa.types.is_dictionary(kind):
        yield from _types(kind.value_type)
    elif pa.types.is_nested(kind):
        for i in range(kind.num_fields):
            yield from _types(kind.field(i).type)
    else:
        yield kind
