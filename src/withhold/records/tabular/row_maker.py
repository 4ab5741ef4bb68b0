"""Rows for codes: each column drawn by itself from the members of the code, all classes mixed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.tabular.column_shares import (
    ColumnShares,
    Members,
    shares_of_numbers,
    shares_of_values,
)
from withhold.records.tabular.column_values import (
    MISSING,
    Floats,
    from_places,
    from_units,
    places,
    units,
)
from withhold.records.tabular.raked_shares import raked
from withhold.records.tabular.table_column import TableColumn, TableColumns
from withhold.records.tabular.vector_features import from_vectors
from withhold.records.tabular.vector_features import vectors as vectors_in

Ints = npt.NDArray[np.int64]
VERSION = 1
_PARTS = ("start", "end", "low", "high")
_BLOCK = 1 << 18  # rows made at once, so that memory does not grow with the rows of a call


@dataclass(frozen=True)
class RowMaker:
    """Makes rows with the columns, types and values of a table from codes and uniforms alone.

    A row depends on its code and its uniforms, not on the record that had the code. So whatever
    bounds what the codes reveal bounds what the rows reveal, given this maker. Only values and
    ranges of numbers that at least `least` people have can leave. No row of a member is stored.
    """

    columns: tuple[TableColumn, ...]
    shares: tuple[ColumnShares, ...]
    own: npt.NDArray[np.bool_]  # (number,): codes of at least `least` people; others: whole table
    least: int
    vectors: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)  # of each code

    @classmethod
    def of(
        cls,
        table: pa.Table,
        columns: TableColumns,
        codes: Ints,
        *,
        number: int,
        people: Ints,
        least: int,
        contrast: float = 1.0,
        vectors: Mapping[str, npt.NDArray[np.float32]] | None = None,
    ) -> RowMaker:
        """Count the values of each code. codes: (n,) in 0..number-1; people: (n,), any integers.

        contrast: above 1, values that many members hold are drawn more often; see `raked_shares`.
        vectors: (number, d) for each column of vectors, the one that the code releases. It must be
        a mean over many people that no single person can move far.
        """
        if len(codes) != table.num_rows or len(people) != table.num_rows:
            raise ValueError("codes and people must have one entry per row of the table")
        if least < 1 or (len(codes) and (codes.min() < 0 or codes.max() >= number)):
            raise ValueError(f"codes must be in 0..{number - 1} and least at least 1")
        each, person = np.unique(people, return_inverse=True)
        same = None if len(each) == len(people) else person.reshape(-1).astype(np.int64)
        members = Members(codes.astype(np.int64), same, number, least)
        own = members.holding(members.codes, np.arange(len(codes)), values=number) >= least
        made = [_shares(table[c.name], c, members, contrast) for c in columns.columns]
        columns_, shares = tuple(c for c, _ in made), tuple(s for _, s in made)
        wanted = [c.name for c in columns_ if c.kind == "vector"]
        if any(len((vectors or {}).get(name, ())) != number for name in wanted):
            raise ValueError("every column of vectors needs one vector for each code")
        return cls(columns_, shares, own, least, dict(vectors or {}))

    @property
    def schema(self) -> pa.Schema:
        """The columns and types of the rows, without the metadata of the original."""
        return pa.schema([pa.field(c.name, c.type) for c in self.columns])

    def rows(self, codes: Ints, uniforms: Floats) -> pa.Table:
        """One row per code. codes: (m,); uniforms: (m, columns) in [0, 1), one per value."""
        if uniforms.shape != (len(codes), len(self.columns)):
            raise ValueError(f"uniforms must be ({len(codes)}, {len(self.columns)})")
        if len(codes) and (codes.min() < 0 or codes.max() >= len(self.own)):
            raise ValueError(f"codes must be in 0..{len(self.own) - 1}")
        source = np.where(self.own[codes], codes, len(self.own))
        made: list[list[pa.Array]] = [[] for _ in self.columns]
        for begin in range(0, max(len(codes), 1), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            # Rows of one code read the same segments: in order of codes they are in the cache.
            order = np.argsort(source[block], kind="stable")
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            ordered = source[block][order]
            for i, (column, shares) in enumerate(zip(self.columns, self.shares, strict=True)):
                drawn = shares.draw(ordered, uniforms[block, i][order])[back]
                if column.kind == "vector":
                    own = self.vectors[column.name][codes[block]]
                    made[i].append(from_vectors(own, np.isnan(drawn), column.type))
                else:
                    made[i].append(_arrow(drawn, column))
        arrays = [pa.chunked_array(m, c.type) for m, c in zip(made, self.columns, strict=True)]
        return pa.table(arrays, schema=self.schema)

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], str]:
        """Everything as plain arrays and JSON, for `from_state`."""
        arrays: dict[str, npt.NDArray[Any]] = {"own": self.own}
        for i, shares in enumerate(self.shares):
            arrays |= {f"{part}_{i}": getattr(shares, part) for part in _PARTS}
        names = [c.name for c in self.columns]
        arrays |= {f"vectors_{names.index(n)}": v for n, v in self.vectors.items()}
        told = {
            "version": VERSION,
            "least": self.least,
            "columns": [c.to_json() for c in self.columns],
        }
        return arrays, json.dumps(told, allow_nan=False)

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray[Any]], text: str) -> RowMaker:
        """The maker whose `state` this is."""
        told = json.loads(text)
        if told.get("version") != VERSION:
            raise ValueError(f"row maker of version {told.get('version')}, not {VERSION}")
        columns = tuple(TableColumn.from_json(c) for c in told["columns"])
        shares = tuple(
            ColumnShares(*(arrays[f"{part}_{i}"] for part in _PARTS)) for i in range(len(columns))
        )
        own = {c.name: arrays[f"vectors_{i}"] for i, c in enumerate(columns) if c.kind == "vector"}
        return cls(columns, shares, arrays["own"], int(told["least"]), own)


def _shares(
    column: pa.ChunkedArray, about: TableColumn, members: Members, contrast: float
) -> tuple[TableColumn, ColumnShares]:
    """The distributions of a column, and the column without the values that may not leave."""
    if about.is_empty:
        return about, shares_of_numbers(np.full(len(column), np.nan), members)
    if about.kind == "vector":  # whether it is missing; the vector itself belongs to the code
        here = np.where(np.isnan(vectors_in(column)).any(axis=1), MISSING, 0).astype(np.int64)
        rows = np.flatnonzero(here == 0)
        enough = members.holding(here[rows], rows, values=1) >= members.least
        return about, shares_of_values(here, members, allowed=enough)
    if about.values is None:
        return about, _sharper(shares_of_numbers(units(column, about), members), members, contrast)
    place = places(column, about)
    rows = np.flatnonzero(place != MISSING)
    # The last place is that of values which are not in the list.
    held = members.holding(place[rows], rows, values=len(about.values) + 1)
    allowed = held >= members.least
    allowed[-1] = False
    # Only the values that may leave are kept, also in the list of a dictionary.
    values = tuple(v for v, kept in zip(about.values, allowed[:-1], strict=True) if kept)
    renumber = np.cumsum(allowed) - 1
    shares = _sharper(shares_of_values(place, members, allowed=allowed), members, contrast)
    low = np.where(np.isnan(shares.low), np.nan, _renumbered(shares.low, renumber))
    return replace(about, values=values, rare=()), replace(shares, low=low, high=low)


def _sharper(shares: ColumnShares, members: Members, contrast: float) -> ColumnShares:
    """More contrast, if the column has single values only: ranges are each of one code alone."""
    if contrast == 1 or not np.array_equal(shares.low, shares.high, equal_nan=True):
        return shares
    count = np.bincount(members.codes, minlength=members.number).astype(np.float64)
    return raked(shares, count, contrast=contrast)


def _renumbered(place: Floats, renumber: Ints) -> Floats:
    known = ~np.isnan(place)
    made = np.zeros(len(place))
    made[known] = renumber[place[known].astype(np.int64)]
    return made


def _arrow(drawn: Floats, about: TableColumn) -> pa.Array:
    if about.is_empty:
        return pa.nulls(len(drawn), about.type)
    if about.values is None:
        return from_units(drawn, about)
    place = np.where(np.isnan(drawn), MISSING, np.where(np.isnan(drawn), 0, drawn))
    return from_places(place.astype(np.int64), about)
