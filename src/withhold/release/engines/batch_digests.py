"""The first pass over the records on an engine: keyed digests of rows, and what to decide on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.records.plain import plain_table
from withhold.release.digest import row_digests
from withhold.release.engines.hidden_columns import HIDDEN
from withhold.release.engines.pieces import Piece
from withhold.release.feature_columns import Layout
from withhold.release.survey import digest_key
from withhold.release.table_layout import TableLayout

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class BatchDigests:
    """digests(piece) -> (n,), of the features and all other columns of every row."""

    layout: Layout
    key: bytes = field(repr=False)  # of the digests, not of the bundle

    @classmethod
    def of(cls, bundle: Bundle, layout: Layout) -> BatchDigests:
        """With the key that a release with this bundle uses for its rows."""
        return cls(layout, digest_key(bundle.modifier.key))

    def __call__(self, piece: Piece) -> npt.NDArray[np.uint64]:
        """The digests of the rows of a piece."""
        x, table = self.parts(piece.batch, piece.start)
        return self.of_parts(x, plain_table(table))

    def of_parts(self, x: FloatArray, table: pa.Table) -> npt.NDArray[np.uint64]:
        """The same from features (n, d) and other columns as plain values."""
        return row_digests(x, table, self.key)

    def parts(self, batch: pa.RecordBatch, start: int = 0) -> tuple[FloatArray, pa.Table]:
        """The features of a batch (n, d), and its other columns."""
        x = np.array(self.layout.read(batch, start_row=start))
        # The columns of a table are features and labels at once.
        tabular = isinstance(self.layout, TableLayout)
        gone = {*HIDDEN, *(() if tabular else self.layout.columns)}
        others = [c for c in batch.schema.names if c not in gone]
        return x, pa.Table.from_batches([batch.select(others)])
