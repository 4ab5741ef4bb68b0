"""The columns of a table that a method makes: how they become features, and rows again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean
from withhold.methods.features.exact import ExactModifier
from withhold.methods.features.exact.table_rows import TableRows

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TableLayout:
    """The same interface as `FeatureLayout`, for the rows of a mixed table."""

    rows: TableRows
    name: str

    @classmethod
    def of(cls, modifier: ExactModifier, schema: pa.Schema, name: str) -> TableLayout:
        """The layout of a source `name` that has all columns of the fit."""
        if modifier.rows is None:
            raise UserError(
                f"this bundle was fitted on features, and {name} is a mixed table; fit it"
                " as a table"
            )
        layout = cls(modifier.rows, name)
        for column in modifier.rows.encoder.columns:
            if column.name not in schema.names:
                hint = did_you_mean(column.name, schema.names)
                raise UserError(f"column '{column.name}' is not in {name}{hint}")
            kind = schema.field(column.name).type
            if kind != column.type:
                raise UserError(
                    f"column '{column.name}' of {name} is {kind}, and was {column.type} in"
                    " the fit; release the data of the fit"
                )
        return layout

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the method makes."""
        return self.rows.columns

    def read(self, batch: pa.RecordBatch, *, start_row: int = 0) -> FloatArray:
        """Features of a batch, (n, d)."""
        return self.rows.encoder.encode(pa.Table.from_batches([batch]))

    def write(self, batch: pa.RecordBatch, rows: pa.Table) -> pa.RecordBatch:
        """The batch with the made rows in place of its own columns."""
        names = batch.schema.names
        arrays = [
            _one(rows[name]) if name in rows.column_names else batch.column(name) for name in names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.release_schema(batch.schema))

    def release_schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the source: a table comes back with its own types."""
        made = self.rows.maker.schema
        fields = [made.field(f.name) if f.name in made.names else f for f in schema]
        return pa.schema(fields)


def _one(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
