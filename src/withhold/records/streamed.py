"""A dataset whose features stay in their file: labels in memory, features block by block.

For files whose features would not fit into memory. A record takes about 100 bytes of memory in a
fit, for features of any width: its labels, and whole numbers that name its class and code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.records.checks import checked
from withhold.records.dataset import Dataset, FloatArray, Rows
from withhold.records.readers import FeatureLayout, Source, open_source
from withhold.records.splits import SPLIT
from withhold.records.tables import RECORD, bare_table, canonical_bytes

MOST = 2**26  # numbers; the features of a file with more are not read into memory
ROWS = 4096  # of a block
# An engine: a function of every task, in their order, on its workers.
Spread = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class StreamedDataset(Dataset):
    """n records whose features are read from `source` in every pass; x has no columns.

    `table` holds only the columns that were asked for. `rows` reads some records into a Dataset
    with all columns. spread: the engine that works on blocks; None: this process does.
    """

    source: Source | None = None
    spread: Spread | None = None
    _digest: list[str] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        path: Path,
        columns: Sequence[str],
        *,
        features: str = "x",
        group: str | None = None,
        exclude: Sequence[str] = (),
        multilabel: Mapping[str, Sequence[str]] | None = None,
        delimiter: str | None = None,
        progress: Progress | None = None,
    ) -> StreamedDataset:
        """Open a file of features, and read only these columns and the group of it."""
        source = open_source(path, delimiter=delimiter)
        layout = _sized(source, FeatureLayout.resolve(source.schema, features, name=source.name))
        several = {name: tuple(labels) for name, labels in (multilabel or {}).items()}
        empty = Dataset(
            np.empty((0, 0), np.float32),
            source.schema.empty_table().drop_columns(list(layout.columns)),
            layout,
            source.schema,
            source.name,
            group,
            frozenset(exclude),
            several,
        )
        checked(empty)  # options that name no column
        wanted = {*columns, group, *(v for labels in several.values() for v in labels)}
        held = [c for c in source.schema.names if c in wanted and c not in layout.columns]
        with (progress or Silent()).stage(f"reading the labels of {source.name}", None):
            table = _table(source, held)
        return cls(
            np.empty((source.num_rows, 0), np.float32),
            table,
            layout,
            source.schema,
            source.name,
            group,
            frozenset(exclude),
            several,
            path=path,
            source=source,
        )

    def __len__(self) -> int:
        return self._file.num_rows

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.layout.names)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Every column that can have a role; only those that were asked for are in memory."""
        parts = {label for labels in self.multilabel.values() for label in labels}
        skip = {*self.exclude, *parts, *self.layout.columns, SPLIT, RECORD}
        return (*(c for c in self.schema.names if c not in skip), *self.multilabel)

    @property
    def _file(self) -> Source:
        assert self.source is not None
        return self.source

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """The features of all records in order, `ROWS` at a time: where they are, and (m, d)."""
        start = 0
        for batch in self._file.batches(rows=ROWS, columns=self.layout.columns):
            x = np.array(self.layout.read(batch, start_row=start))  # Arrow's memory is read-only
            yield slice(start, start + len(x)), x
            start += len(x)
        if start != len(self):
            raise UserError(f"{self.name} changed while it was read; run again")

    def rows(self, rows: Rows) -> Self:
        """Some of the records with all their columns, read into memory in one pass."""
        index = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows, np.int64)
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        x = np.empty((len(index), self.dimension), np.float32)
        others = [c for c in self.schema.names if c not in self.layout.columns]
        pieces: list[pa.RecordBatch] = []
        start = 0
        for batch in self._file.batches(rows=ROWS):
            low, high = np.searchsorted(ordered, (start, start + batch.num_rows))
            if high > low:
                here = ordered[low:high] - start
                some = batch.take(pa.array(here))
                x[order[low:high]] = self.layout.read(some, start_row=int(ordered[low]))
                pieces.append(some.select(others))
            start += batch.num_rows
        table = bare_table(len(index))
        if others and pieces:
            back = np.argsort(order, kind="stable")
            table = pa.Table.from_batches(pieces).take(pa.array(back)).combine_chunks()
        whole = Dataset(
            x, table, self.layout, self.schema, self.name, self.group, self.exclude,
            self.multilabel, path=self.path,
        )  # fmt: skip
        # Classes stay those of the whole, so that codes mean the same in every part.
        known = {name: a.rows(index) for name, a in self._encoded.items()}
        return replace(whole, _encoded=known)  # type: ignore[return-value]

    def digest(self) -> str:
        """SHA-256 over features and all other columns, `ROWS` rows after the other."""
        if not self._digest:
            h = hashlib.sha256(repr(("streamed", len(self), self.dimension)).encode())
            others = sorted(c for c in self.schema.names if c not in self.layout.columns)
            start = 0
            for batch in self._file.batches(rows=ROWS):
                h.update(np.ascontiguousarray(self.layout.read(batch, start_row=start)).data)
                for name in others:
                    h.update(name.encode())
                    for piece in canonical_bytes(pa.chunked_array([batch.column(name)])):
                        h.update(piece)
                start += batch.num_rows
            self._digest.append(h.hexdigest())
        return self._digest[0]


def is_large(path: Path, features: str, *, delimiter: str | None = None) -> bool:
    """Whether the features of a file are more numbers than should be in memory at once."""
    source = open_source(path, delimiter=delimiter)
    layout = _sized(source, FeatureLayout.resolve(source.schema, features, name=source.name))
    return source.num_rows * len(layout.names) > MOST


def _sized(source: Source, layout: FeatureLayout) -> FeatureLayout:
    """The layout with its number of features, which a list of variable length does not state."""
    if layout.dimension is not None:
        return layout
    first = next(source.batches(rows=1, columns=layout.columns))
    return layout.with_dimension(layout.read(first).shape[1])


def _table(source: Source, columns: list[str]) -> pa.Table:
    """Some columns of a source. Text is kept as numbers of a dictionary."""
    if not columns:
        return bare_table(source.num_rows)
    pieces = []
    for batch in source.batches(rows=16 * ROWS, columns=columns):
        arrays = [a.dictionary_encode() if pa.types.is_string(a.type) else a for a in batch.columns]
        pieces.append(pa.RecordBatch.from_arrays(arrays, names=columns))
    return pa.Table.from_batches(pieces).unify_dictionaries()
