"""A keyed digest of each row. It does not depend on the position of the row."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.records.arrow_kinds import is_list, is_number
from withhold.records.tables import RECORD

Words = npt.NDArray[np.uint64]
_MISSING = np.uint64(0x6D697373696E6721)


def row_digests(x: npt.NDArray[np.float32] | None, table: pa.Table, key: bytes) -> Words:
    """64 bits for each row, from its features x: (n, d) and all other columns, sorted by name."""
    names = sorted(n for n in table.column_names if n != RECORD)
    parts = [_words(table[name]) for name in names]
    n = table.num_rows if x is None else len(x)
    others = np.stack(parts, axis=1) if parts else np.empty((n, 0), np.uint64)
    others = np.ascontiguousarray(others, "<u8")
    features = None if x is None else np.ascontiguousarray(x + np.float32(0), "<f4")
    salt = hashlib.blake2b("\0".join(names).encode(), key=key, digest_size=32).digest()
    found = bytearray()
    for i in range(n):
        one = hashlib.blake2b(others[i].data, key=salt, digest_size=8)
        if features is not None:
            one.update(features[i].data)
        found += one.digest()
    return np.frombuffer(bytes(found), "<u8").astype(np.uint64)


def _words(column: pa.ChunkedArray) -> Words:
    """64 bits for each value: the bits of a number, the hash of anything else."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    missing = column.is_null().to_numpy().astype(bool)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        words = pc.fill_null(column, False if pa.types.is_boolean(kind) else 0).to_numpy()
        words = words.astype(np.int64, copy=False).view(np.uint64)
    elif pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        values = pc.fill_null(column, 0.0).to_numpy() + 0.0
        missing = missing | np.isnan(values)
        words = np.ascontiguousarray(values).view(np.uint64)
    elif is_list(kind) and is_number(kind.value_type):
        words = _list_words(column)
    else:
        words = _hashed(column)
    return np.where(missing, _MISSING, words)


def _list_words(column: pa.ChunkedArray) -> Words:
    found = bytearray()
    for value in column:
        numbers = value.values
        data = b"" if numbers is None else numbers.cast(pa.float64()).to_numpy(False).tobytes()
        found += hashlib.blake2b(data, digest_size=8).digest()
    return np.frombuffer(bytes(found), "<u8").astype(np.uint64)


def _hashed(column: pa.ChunkedArray) -> Words:
    if pa.types.is_nested(column.type):
        values: list[bytes] = [repr(v).encode() for v in column.to_pylist()]
        codes = np.arange(len(values))
    else:
        whole = column.combine_chunks().dictionary_encode()
        found = whole.dictionary.to_pylist()
        values = [v if isinstance(v, bytes) else str(v).encode() for v in found]
        codes = whole.indices.fill_null(0).to_numpy(zero_copy_only=False)
    digests = b"".join(hashlib.blake2b(v, digest_size=8).digest() for v in values)
    words = np.frombuffer(digests, "<u8").astype(np.uint64)
    return words[codes] if len(words) else np.zeros(len(column), np.uint64)
