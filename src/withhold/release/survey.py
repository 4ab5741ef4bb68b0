"""The first pass over the records: digests of all rows, and a sample to measure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.keyed import other_key
from withhold.records.columns.measure_columns import MOST
from withhold.records.columns.rules import has_bytes
from withhold.records.plain import plain_table
from withhold.release.digest import row_digests

FloatArray = npt.NDArray[np.float32]
WIDE = 2000  # rows of the sample for which features and lists are kept


@dataclass(frozen=True, eq=False)
class Survey:
    """digests: (n,) of all rows; table and x: a sample that does not depend on the row order.

    table has the columns that can be measured. Columns of lists have values only in its first
    `WIDE` rows. x: the features of those rows.
    """

    digests: npt.NDArray[np.uint64]
    table: pa.Table
    x: FloatArray | None
    bytes: int


def survey(pieces: Iterable[tuple[FloatArray | None, pa.Table]], key: bytes) -> Survey:
    """Read all pieces once. The sample has the rows with the smallest digests, so it is bounded."""
    own, found = digest_key(key), Surveyed()
    for x, table in pieces:
        size = table.nbytes + (0 if x is None else x.nbytes)
        table = plain_table(table)  # each batch may have its own dictionary
        found.add(x, table, row_digests(x, table, own), size=size)
    return found.result()


def digest_key(key: bytes) -> bytes:
    """The key for the digests of rows, from that of the bundle."""
    return other_key(key[:64], "rows of a release")


class Surveyed:
    """What is known after some of the rows; their order does not matter to the sample."""

    def __init__(self) -> None:
        self.digests: list[npt.NDArray[np.uint64]] = []
        self.size = 0
        self._flat, self._wide = _Sample(MOST), _Sample(WIDE)

    def add(
        self,
        x: FloatArray | None,
        table: pa.Table,
        digests: npt.NDArray[np.uint64],
        *,
        size: int = 0,
    ) -> None:
        """Rows with features x: (n, d), other columns as plain values, and digests (n,)."""
        self.size += size
        self.digests.append(digests)
        flat, nested = measurable(table)
        self.add_flat(flat, digests)
        self.add_wide(x, nested, digests)

    def add_flat(self, table: pa.Table, digests: npt.NDArray[np.uint64]) -> None:
        """Rows for the sample of columns without lists."""
        self._flat.add(digests, table, None)

    def add_wide(
        self, x: FloatArray | None, table: pa.Table, digests: npt.NDArray[np.uint64]
    ) -> None:
        """Rows for the sample of features and columns of lists."""
        self._wide.add(digests, table, x)

    def full(self, records: int) -> bool:
        """Whether the samples have as many of so many records as they may have."""
        return all(len(s.digests) >= min(records, s.most) for s in (self._flat, self._wide))

    def result(self) -> Survey:
        """The survey of all rows."""
        table, _ = self._flat.result()
        lists, features = self._wide.result()
        for name in lists.column_names:
            column = lists[name]
            rest = table.num_rows - len(column)
            filled = pa.chunked_array([*column.chunks, pa.nulls(rest, column.type)])
            table = table.append_column(name, filled)
        whole = np.concatenate(self.digests) if self.digests else np.empty(0, np.uint64)
        return Survey(whole, table, features, self.size)


def measurable(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The columns that can be measured: those without lists, and those with."""
    names = [n for n in table.column_names if not has_bytes(table[n].type)]
    nested = [n for n in names if pa.types.is_nested(table[n].type)]
    return table.select([n for n in names if n not in nested]), table.select(nested)


class _Sample:
    """The rows with the smallest digests, sorted by digest."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.digests = np.empty(0, np.uint64)
        self.table: pa.Table | None = None
        self.x: FloatArray | None = None

    def add(self, digests: npt.NDArray[np.uint64], table: pa.Table, x: FloatArray | None) -> None:
        small = np.arange(len(digests))
        if len(self.digests) >= self.most:
            small = np.flatnonzero(digests < self.digests[-1])
            if not len(small):
                return
        table = table.append_column("\0digest", pa.array(digests)).take(pa.array(small))
        joined = table if self.table is None else pa.concat_tables([self.table, table])
        features = None if x is None else x[small]
        if features is not None and self.x is not None:
            features = np.concatenate([self.x, features])
        found = np.concatenate([self.digests, digests[small]])
        best = np.argsort(found, kind="stable")[: self.most]
        self.digests = found[best]
        self.table = joined.take(pa.array(best)).combine_chunks()
        self.x = None if features is None else features[best]

    def result(self) -> tuple[pa.Table, FloatArray | None]:
        if self.table is None:
            return pa.table({}), None
        return self.table.drop_columns(["\0digest"]), self.x
