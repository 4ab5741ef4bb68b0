"""A column in one record, seen beside the other records of the same person.

If every person has two wards and is in pain in the rarer one, the ward tells nothing record by
record. Whether it is the rarer one of the person tells the pain.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.record_sets import Rows

WIDEST = 24  # encoded columns that are compared with those of the person


def relative_views(encoded: EncodedColumn, sets: Rows) -> Iterator[EncodedColumn]:
    """The column in each record of the sets (p, r) of one person: views of p * r records.

    The first: how many records of the set have the value, and whether none is more frequent. The
    second, in numbers: the encoded value, its difference from the mean of the set, the standard
    deviation of the set, the rank in the set, and how often this and other values occur.
    """
    p, r = sets.shape
    same = encoded.codes[sets]
    equal = (same[:, :, None] == same[:, None, :]).sum(axis=2)
    most = equal.max(axis=1, keepdims=True)
    often = np.stack([equal, equal == most], axis=2).reshape(p * r, 2)
    frequency = np.unique(2 * often[:, 0] + often[:, 1], return_inverse=True)[1].reshape(-1)
    yield EncodedColumn(often.astype(np.float32), "number", frequency.astype(np.int64))
    x = encoded.x[:, :WIDEST].astype(np.float64)
    scale = x.std(axis=0)
    v = ((x - x.mean(axis=0)) / np.where(scale > 0, scale, 1.0)).astype(np.float32)[sets]
    mean, spread = v.mean(axis=1, keepdims=True), v.std(axis=1, keepdims=True)
    less = (same[:, :, None] > same[:, None, :]).sum(axis=2)
    distinct = (1 / equal).sum(axis=1, keepdims=True)
    counts = np.stack(np.broadcast_arrays(less + equal / 2, equal, equal == most, most, distinct))
    parts = [v, v - mean, np.broadcast_to(spread, v.shape), np.moveaxis(counts, 0, 2)]
    told = np.concatenate(parts, axis=2).reshape(p * r, -1).astype(np.float32)
    # No two records count as equal, and their order, which may be that of the ids, tells nothing.
    order = np.random.default_rng(0x5E76).permutation(p * r).astype(np.int64)
    yield EncodedColumn(told, "relative", order)
