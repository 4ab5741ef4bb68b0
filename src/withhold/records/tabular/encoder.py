"""A mixed table as a matrix of numbers, without regard to any attribute."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.tabular.category_features import CategoryFeatures
from withhold.records.tabular.column_values import MISSING, floats, places
from withhold.records.tabular.number_features import NumberFeatures
from withhold.records.tabular.table_column import TableColumn, TableColumns
from withhold.records.tabular.vector_features import VectorFeatures, vectors

Features = NumberFeatures | CategoryFeatures | VectorFeatures
VERSION = 1


@dataclass(frozen=True)
class TableEncoder:
    """Encodes each row by itself, so that any batches of a table give the same matrix.

    The features of each column have a total variance of 1 in the fitted table, so that no column
    counts more than another in a distance. Columns that tell no records apart have no features.
    """

    columns: tuple[TableColumn, ...]
    features: tuple[Features | None, ...]

    @classmethod
    def fit(cls, table: pa.Table, columns: TableColumns) -> TableEncoder:
        """Fit scales, quantiles and frequencies; `columns` come from `describe_columns`."""
        features = tuple(_fit(table[c.name], c) for c in columns.columns)
        return cls(columns.columns, features)

    @property
    def width(self) -> int:
        """The number of features of a row."""
        return sum(f.width for f in self.features if f is not None)

    @property
    def blocks(self) -> dict[str, slice]:
        """The features of each column; an empty slice for a column without features."""
        found, start = {}, 0
        for column, features in zip(self.columns, self.features, strict=True):
            stop = start + (0 if features is None else features.width)
            found[column.name] = slice(start, stop)
            start = stop
        return found

    def encode(self, table: pa.Table) -> npt.NDArray[np.float32]:
        """float32 (n, width), finite. A column that the table does not have counts as missing."""
        out = np.zeros((table.num_rows, self.width), dtype=np.float32)
        blocks = self.blocks
        for column, features in zip(self.columns, self.features, strict=True):
            if features is None:
                continue
            block = out[:, blocks[column.name]]
            there = column.name in table.column_names
            if isinstance(features, VectorFeatures):
                lost = np.full((table.num_rows, features.width), np.nan, np.float32)
                features.encode(vectors(table[column.name]) if there else lost, block)
            elif isinstance(features, NumberFeatures):
                gone = np.full(table.num_rows, np.nan)
                features.encode(_numbers(table[column.name], column) if there else gone, block)
            else:
                none = np.full(table.num_rows, MISSING)
                features.encode(places(table[column.name], column) if there else none, block)
        return out

    def vectors_of(self, z: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
        """The vectors (n, d) of each column of vectors, from features z (n, width)."""
        blocks = self.blocks
        return {
            column.name: features.decode(z[:, blocks[column.name]])
            for column, features in zip(self.columns, self.features, strict=True)
            if isinstance(features, VectorFeatures)
        }

    def to_json(self) -> str:
        """The encoder as JSON."""
        columns = [
            {"column": c.to_json(), "features": None if f is None else f.to_json()}
            for c, f in zip(self.columns, self.features, strict=True)
        ]
        return json.dumps({"version": VERSION, "columns": columns}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> TableEncoder:
        """The encoder that `to_json` wrote."""
        told = json.loads(text)
        if told.get("version") != VERSION:
            raise ValueError(f"table encoder of version {told.get('version')}, not {VERSION}")
        columns, features = [], []
        for each in told["columns"]:
            column = TableColumn.from_json(each["column"])
            kind = _kind(column)
            columns.append(column)
            features.append(None if each["features"] is None else kind.from_json(each["features"]))
        return cls(tuple(columns), tuple(features))


def _is_number(column: TableColumn) -> bool:
    """Whether the features are those of a number; a boolean is 0 or 1."""
    return column.values is None or column.kind == "boolean"


def _kind(column: TableColumn) -> type[Features]:
    if column.kind == "vector":
        return VectorFeatures
    return NumberFeatures if _is_number(column) else CategoryFeatures


def _fit(column: pa.ChunkedArray, about: TableColumn) -> Features | None:
    if about.kind == "constant":
        return None
    if about.kind == "vector":
        return VectorFeatures.fit(vectors(column))
    if _is_number(about):
        return NumberFeatures.fit(_numbers(column, about))
    return CategoryFeatures.fit(places(column, about), values=len(about.values or ()))


def _numbers(column: pa.ChunkedArray, about: TableColumn) -> npt.NDArray[np.float64]:
    # `describe_columns` refuses infinite numbers; in a later table they count as missing.
    x = floats(column, about)
    return np.where(np.isinf(x), np.nan, x)
