"""Arrow columns as plain values, without anything else that their encoding contains.

A dictionary may contain values that no record has, such as names of people who were removed. An
extension type, a run-end encoding and a view are other ways to store the same values. A null may
have a value stored below it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without dictionaries, extensions, run ends, views and metadata, at any depth."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(f) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_list(kind) or pa.types.is_list_view(kind):
        return pa.list_(_plain_field(kind.value_field))
    return kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of plain values, without metadata; every column may have missing values."""
    return pa.schema([_plain_field(field) for field in schema])


def plain_column(
    column: pa.ChunkedArray | pa.Array, *, one_missing: bool = False
) -> pa.ChunkedArray:
    """The values of a column in their plain type.

    With `one_missing` every NaN becomes null, at any depth: a mix of nulls and NaNs, or NaNs with
    different bits, could reveal something that no table shows.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    kind = plain_type(column.type)
    return pa.chunked_array([_plain_array(c, one_missing) for c in chunks], kind)


def plain_table(table: pa.Table, *, one_missing: bool = False) -> pa.Table:
    """A table of plain values; see `plain_column`."""
    if not table.num_columns:
        return table  # a rebuilt table without columns would lose its length
    columns = [plain_column(c, one_missing=one_missing) for c in table.columns]
    return pa.table(columns, schema=plain_schema(table.schema))


def _plain_field(field: pa.Field) -> pa.Field:
    # A field without nulls may have some after NaN has become null.
    return pa.field(field.name, plain_type(field.type), nullable=True)


def _plain_array(array: pa.Array, one_missing: bool) -> pa.Array:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_array(array.storage, one_missing)
    if pa.types.is_dictionary(kind):
        return _plain_array(array.dictionary_decode(), one_missing)
    if pa.types.is_run_end_encoded(kind):
        return _plain_array(pc.run_end_decode(array), one_missing)
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array) if one_missing else array
    if not pa.types.is_nested(kind):
        wanted = plain_type(kind)
        return array if wanted == kind else array.cast(wanted)
    if pa.types.is_struct(kind):
        parts = [_plain_array(part, one_missing) for part in array.flatten()]
        if not parts:
            return array
        fields = list(plain_type(kind))
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_fixed_size_list(kind):
        return _fixed_lists(array, one_missing)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        width = pa.int32() if pa.types.is_list(kind) else pa.int64()
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), width)
        holder = pa.ListArray if pa.types.is_list(kind) else pa.LargeListArray
        values = _plain_array(array.flatten(), one_missing)
        return holder.from_arrays(offsets, values, type=plain_type(kind), mask=array.is_null())
    values = array.to_pylist()  # maps, unions and views of lists
    return pa.array(_without_nan(values) if one_missing else values, plain_type(kind))


def _fixed_lists(array: pa.Array, one_missing: bool) -> pa.Array:
    size, gone = array.type.list_size, array.is_null()
    values = _plain_array(array.flatten(), one_missing)  # without the values below nulls
    if array.null_count:
        there = np.repeat(~gone.to_numpy(zero_copy_only=False), size)
        place = np.cumsum(there) - 1
        values = values.take(pa.array(place, mask=~there))
    return pa.FixedSizeListArray.from_arrays(values, type=plain_type(array.type), mask=gone)


def _without_nan(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_without_nan(v) for v in value)
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    return None if isinstance(value, float) and value != value else value
