"""All features of a source in one array, using little more memory than the array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from withhold.core.errors import UserError
from withhold.records.readers.feature_layout import FeatureLayout
from withhold.records.readers.source import Source

_BATCH_BYTES = 2**20


def load_features(
    source: Source, layout: FeatureLayout, *, rows: int | None = None, columns_at_once: int = 8
) -> NDArray[np.float32]:
    """All features of a source as one writable array: (n, d) float32.

    Wide columns of a columnar file are read `columns_at_once` at a time, since a decoder holds a
    page and a dictionary (2 MB and more) for each open column. By default `rows` is chosen so that
    a batch has about a megabyte.
    """
    if layout.dimension is None:
        first = next(source.batches(rows=1, columns=layout.columns), None)
        if first is None:
            raise UserError(f"{source.name} has no rows; nothing can be read from it")
        layout = layout.with_dimension(layout.read(first).shape[1])
    x = np.empty((source.num_rows, len(layout.names)), np.float32)
    if layout.is_list or not source.by_column:
        _fill(x, source, layout, rows)
        return x
    for start in range(0, len(layout.columns), columns_at_once):
        some = layout.columns[start : start + columns_at_once]
        part = replace(layout, columns=some, names=some, dimension=len(some))
        _fill(x[:, start : start + len(some)], source, part, rows)
    return x


def _fill(x: NDArray[np.float32], source: Source, layout: FeatureLayout, rows: int | None) -> None:
    rows = rows or max(1, _BATCH_BYTES // (4 * x.shape[1]))
    start = 0
    for batch in source.batches(rows=rows, columns=layout.columns):
        if start + batch.num_rows > len(x):
            start += batch.num_rows
            break
        layout.read(batch, start_row=start, out=x[start : start + batch.num_rows])
        start += batch.num_rows
    if start != len(x):  # unfilled rows of x are uninitialised memory
        raise UserError(f"{source.name} does not have the {len(x):,} rows that it claims")
