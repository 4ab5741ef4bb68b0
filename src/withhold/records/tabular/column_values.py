"""The values of a column as numbers or as places in its list of values, and back to Arrow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.records.tabular.table_column import TableColumn
from withhold.records.tabular.text_dates import parse_dates, write_dates

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
MISSING = -1


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values: of a dictionary's values, and text that Arrow's functions accept."""
    if pa.types.is_dictionary(kind):
        return value_type(kind.value_type)
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def is_stored_whole(kind: pa.DataType) -> bool:
    """Integers, and the dates, times and durations that Arrow stores as integers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def whole_numbers(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Stored integers and where they are present, each (n,). uint64 wraps around: see `units`."""
    array = _one(column)
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    known = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    return values.astype(np.int64, casting="unsafe"), known


def floats(column: pa.ChunkedArray, about: TableColumn) -> Floats:
    """Any column of numbers as float64 (n,), NaN where missing; other widths are accepted."""
    try:
        if about.layout is not None:
            return _as_floats(_parsed(column))
        if about.kind == "date" and column.type != about.type:
            column = column.cast(about.type, safe=False)
        if pa.types.is_temporal(column.type):
            values, known = whole_numbers(column)
            return np.where(known, values.astype(np.float64), np.nan)
        return _as_floats(_one(column).cast(pa.float64(), safe=False))
    except pa.ArrowException as error:
        raise UserError(
            f"column '{about.name}' is {column.type} here and {about.type} in the table that was"
            " fitted; read both with the same types"
        ) from error


def places(column: pa.ChunkedArray, about: TableColumn) -> Places:
    """The place of each value in `about.values` (n,): -1 missing, `len(values)` not in the list."""
    kind = value_type(about.type)
    try:
        plain = _one(column)
        if plain.type != kind:
            plain = plain.cast(kind)
    except pa.ArrowException as error:
        raise UserError(
            f"column '{about.name}' is {column.type} here and {about.type} in the table that was"
            " fitted; read both with the same types"
        ) from error
    listed = about.values or ()
    found = pc.index_in(plain, value_set=pa.array(listed, kind)).fill_null(len(listed))
    gone = plain.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    place = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(gone, MISSING, place)


def units(column: pa.ChunkedArray, about: TableColumn) -> Floats:
    """Numbers as float64 (n,), NaN where missing; stored integers as (value - low) / step.

    A float64 has 53 bits, so timestamps in nanoseconds would lose some. Counted in steps from
    the lowest value they do not. The difference is taken modulo 2^64, where it cannot overflow.
    """
    if about.layout is None and not is_stored_whole(about.type):
        return _as_floats(_one(column).cast(pa.float64(), safe=False))
    if about.layout is not None:
        column = pa.chunked_array([_parsed(column)])
    values, known = whole_numbers(column)
    if about.type != pa.uint64():
        values = np.clip(values, int(about.low or 0), int(about.high or 0))
    apart = values.view(np.uint64) - _modular(about.low)
    return np.where(known, (apart // np.uint64(about.step or 1)).astype(np.float64), np.nan)


def from_units(numbers: Floats, about: TableColumn) -> pa.Array:
    """The inverse of `units`, rounded to the step, inside [low, high], in the type of the column.

    numbers: (n,), NaN for missing.
    """
    gone = np.isnan(numbers)
    low, high, step = about.low or 0, about.high or 0, about.step
    if about.layout is None and not is_stored_whole(about.type):
        made = numbers if step is None else np.round(numbers, round(-np.log10(step)))
        made = np.clip(np.where(gone, low, made), low, high)
        return pa.array(made, mask=gone).cast(about.type, safe=False)
    most = (int(high) - int(low)) // int(step or 1)
    counted = np.clip(np.rint(np.where(gone, 0.0, numbers)), 0.0, float(most))
    # float(most) may round up, and 2.0 ** 64 does not fit into uint64.
    small = counted < float(most)
    steps = np.where(small, np.where(small, counted, 0.0).astype(np.uint64), np.uint64(most))
    values = (_modular(low) + np.minimum(steps, np.uint64(most)) * np.uint64(step or 1)).view(
        np.int64
    )
    if about.layout is not None:
        each, place = np.unique(values, return_inverse=True)
        text = pa.array(write_dates(each, about.layout), about.type)
        return text.take(pa.array(place.reshape(-1), mask=gone))
    if about.type == pa.uint64():
        return pa.array(values.view(np.uint64), about.type, mask=gone)
    if about.type.bit_width == 32 and pa.types.is_temporal(about.type):
        return pa.array(values.astype(np.int32), mask=gone).view(about.type)
    made = pa.array(values, mask=gone)
    temporal = pa.types.is_temporal(about.type)
    return made.view(about.type) if temporal else made.cast(about.type)


def from_places(place: Places, about: TableColumn) -> pa.Array:
    """Values from their places in `about.values`; -1 is missing. Dictionaries stay dictionaries."""
    gone = place == MISSING
    listed = pa.array(about.values or (), value_type(about.type))
    kind = about.type
    if not pa.types.is_dictionary(kind):
        taken = listed.take(pa.array(np.where(gone, 0, place), mask=gone))
        return taken if taken.type == kind else taken.cast(kind)
    index = pa.array(np.where(gone, 0, place), mask=gone).cast(kind.index_type)
    listed = listed if listed.type == kind.value_type else listed.cast(kind.value_type)
    return pa.DictionaryArray.from_arrays(index, listed, ordered=kind.ordered)


def _modular(value: int | float | None) -> np.uint64:
    return np.uint64(int(value or 0) % 2**64)


def _one(column: pa.ChunkedArray) -> pa.Array:
    """One array of plain values; `combine_chunks` alone may leave a chunked array."""
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], column.type)
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _parsed(column: pa.ChunkedArray) -> pa.Array:
    """Text dates in seconds; each distinct text is parsed once."""
    plain = _one(column)
    if pa.types.is_temporal(plain.type):
        return plain.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    coded = plain.cast(pa.large_string()).dictionary_encode()
    return parse_dates(coded.dictionary).take(coded.indices)


def _as_floats(array: pa.Array) -> Floats:
    filled = array.cast(pa.float64(), safe=False)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.float64)
