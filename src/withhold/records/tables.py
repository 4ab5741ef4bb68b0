"""Make Arrow tables from a user's columns, and reduce columns to codes and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.records.attribute import as_whole_numbers
from withhold.records.plain import plain_column
from withhold.records.readers import open_source

# The placeholder column of a table without columns, which would otherwise lose its length.
RECORD = "__record__"


def to_table(attributes: Any, n: int) -> pa.Table:
    """A table of n records from a mapping of columns, or from any frame."""
    if attributes is None or (isinstance(attributes, Mapping) and not attributes):
        return bare_table(n)
    if isinstance(attributes, Mapping):
        columns = {name: _to_column(name, values) for name, values in attributes.items()}
        for name, column in columns.items():
            if len(column) != n:
                raise UserError(
                    f"attribute '{name}' has {len(column):,} records, the features {n:,}"
                )
        return pa.table(columns)
    source = open_source(attributes)
    if source.num_rows != n:
        raise UserError(f"attributes have {source.num_rows:,} records, the features {n:,}")
    return pa.Table.from_batches(list(source.batches()), source.schema)


def _to_column(name: str, values: Any) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    array = np.asarray(values) if not isinstance(values, list) else None
    if array is not None and array.ndim == 2:
        flat = pa.array(np.ascontiguousarray(array).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, array.shape[1])
    if array is not None and array.dtype.kind in "US":
        return pa.array([str(v) for v in array])
    try:
        # pandas marks missing text as NaN in a column of objects.
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise UserError(f"attribute '{name}' cannot be read: {said}; give it one type") from error


def bare_table(n: int) -> pa.Table:
    """A table for records without attributes, with a placeholder that keeps its length."""
    return pa.table({RECORD: pa.array(np.arange(n))})


def encode_any(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Integers for a column of any type; each missing value gets its own code."""
    codes = column.combine_chunks().dictionary_encode().indices.fill_null(-1)
    codes = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    lone = np.flatnonzero(codes < 0)
    codes[lone] = codes.max(initial=0) + 1 + np.arange(len(lone))
    return codes  # type: ignore[no-any-return]


def canonical_bytes(column: pa.ChunkedArray) -> Iterator[bytes]:
    """Bytes of a column's content that do not depend on chunks, integer widths and encoding.

    numpy and pandas turn integers with nulls into floats; here they become integers again.
    """
    if pa.types.is_nested(column.type):
        yield repr(column.to_pylist()).encode()
        return
    column = plain_column(column)
    if pa.types.is_floating(column.type):
        column = as_whole_numbers(column)
    # Encoded again, so that the values are in the order of the records.
    whole = column.dictionary_encode().unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    yield repr(whole.dictionary.to_pylist()).encode()
    yield whole.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False).tobytes()
