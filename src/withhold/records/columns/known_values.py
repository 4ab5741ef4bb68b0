"""Remember the values of a column in the fit, to recognise another column of the same name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pyarrow as pa

from withhold.records.plain import plain_column

MANY = 256  # columns with more values are not remembered


def value_digests(column: pa.ChunkedArray, key: bytes) -> list[str] | None:
    """A keyed digest of each value that occurs, including missing; None if there are too many."""
    values: set[str] = set()
    for chunk in plain_column(column, one_missing=True).chunks:
        whole = pa.types.is_nested(chunk.type) or pa.types.is_interval(chunk.type)
        distinct = chunk if whole else chunk.unique()
        values |= {str(v) for v in distinct.to_pylist()}
        if len(values) > MANY:
            return None
    return sorted(
        hashlib.blake2b(v.encode(), key=key, digest_size=8, person=b"column value").hexdigest()
        for v in values
    )


def only_known_values(column: pa.ChunkedArray, known: Sequence[str] | None, key: bytes) -> bool:
    """Whether every value occurred in the fit; False if the fit did not remember them."""
    found = value_digests(column, key)
    return found is not None and known is not None and set(found) <= set(known)
