"""One picklable class that modifies a batch of records: what all engines run.

It is pure. What becomes of a record depends on that record, its nonce and the key, never on its
place, its batch, the thread or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle, load_bundle
from withhold.core.errors import RecordError, UserError
from withhold.methods import Channel
from withhold.records.plain import plain_column, plain_schema
from withhold.release.engines.hidden_columns import COUNTS, DIGEST, NUMBER, PLACE, nonces_of, signed
from withhold.release.engines.pieces import MadePiece, Piece, one_batch
from withhold.release.feature_columns import Layout, layout_of
from withhold.release.keyed_order import Order
from withhold.release.modify import INDEX, Modified, Shape, modified
from withhold.release.release_counts import ReleaseCounts
from withhold.release.subject import needed_labels
from withhold.release.table_layout import TableLayout

Nonces = npt.NDArray[np.uint64]


@dataclass(eq=False)
class BatchModifier:
    """modifier(table) -> table with the columns of the schema `leaving` alone.

    bundle: a Bundle, or its folder, which every worker then opens by itself; leaving: the columns
    that `policy.decide` lets out, by default those that the method makes; features: as `--features`
    takes them; order: if given, a table comes back with two more columns, the place of each row and
    the counts for the certificate; keep_plan: see `PlanTally`.

    Equal rows that draw by themselves, and samples, need the columns DIGEST and NUMBER.
    """

    bundle: Bundle | str | Path
    leaving: pa.Schema | None = None
    features: str | None = None
    shape: Shape = "code"
    name: str = "the data"
    order: Order | None = None
    keep_plan: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.bundle, Bundle):
            # A worker does not need to know who was in the fit.
            self.bundle = replace(self.bundle, membership=None)
        self._loaded: Bundle | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_loaded": None}

    def __call__(self, table: pa.Table) -> pa.Table:
        """The batch as it may leave."""
        nonces = nonces_of(table, number=self.by_row)
        plain = table.drop_columns([c for c in (DIGEST, NUMBER) if c in table.column_names])
        batch = one_batch(plain)
        made = self.make(Piece(batch, 0, nonces if self.by_row else None))
        found = pa.Table.from_batches([made.batch])
        if self.order is None:
            return found
        assert nonces is not None
        places = signed(self.order.words(nonces[:, 0], nonces[:, 1] if self.by_row else None))
        counts = pa.array([made.counts.to_bytes(), *[None] * (len(batch) - 1)][: len(batch)])
        return found.append_column(PLACE, pa.array(places)).append_column(
            pa.field(COUNTS, pa.binary()), counts.cast(pa.binary())
        )

    def make(self, piece: Piece) -> MadePiece:
        """What leaves of some records of a file, and their counts."""
        bundle, batch, start = self.loaded, piece.batch, piece.start
        layout = layout_of(bundle, batch.schema, self.features or bundle.feature_spec, self.name)
        x = np.array(layout.read(batch, start_row=start))
        labelled = pa.Table.from_batches([batch])
        labels = needed_labels(bundle, labelled, self.name)
        try:
            made = modified(
                bundle, x, labels, shape=self.shape, nonces=piece.nonces, name=self.name, done=start
            )
        except RecordError as error:
            raise error.after(start) from None
        counts = ReleaseCounts.of(bundle, keep_plan=self.keep_plan)
        counts.add(
            bundle, made, labelled, bundle.input["multilabel"], self.name, leaves=piece.leaves
        )
        schema = self.leaving
        if schema is None:
            own = layout.release_schema(batch.schema)
            schema = plain_schema(pa.schema([own.field(c) for c in layout.columns]))
        released = _leaving(_with(batch, layout, made, self.shape), layout, schema)
        if piece.leaves is not None:
            released = released.filter(pa.array(piece.leaves))
        return MadePiece(released, counts)

    @property
    def loaded(self) -> Bundle:
        """The bundle, read on first use."""
        if self._loaded is None:
            given = self.bundle
            self._loaded = given if isinstance(given, Bundle) else load_bundle(given)
            if self._loaded.kind not in ("features", "table"):
                raise UserError(
                    f"a bundle of {self._loaded.kind}s has no batches of records; release media"
                    " with withhold transform"
                )
        return self._loaded

    @property
    def by_row(self) -> bool:
        """Whether equal rows become different ones, so that each needs a number."""
        modifier = self.loaded.modifier
        return self.shape == "sample" or (isinstance(modifier, Channel) and modifier.draws_by_row)


def _with(batch: pa.RecordBatch, layout: Layout, made: Modified, shape: Shape) -> pa.RecordBatch:
    """The batch with the modified features. No column has been left out yet."""
    if isinstance(layout, TableLayout):
        assert made.rows is not None
        return layout.write(batch, made.rows)
    if shape != "index":
        return layout.write(batch, made.x)
    drawn = made.codes
    assert drawn is not None
    kept = batch.drop_columns([INDEX]) if INDEX in batch.schema.names else batch
    return kept.append_column(pa.field(INDEX, pa.uint16()), pa.array(drawn.astype(np.uint16)))


def _leaving(batch: pa.RecordBatch, layout: Layout, schema: pa.Schema) -> pa.RecordBatch:
    """The columns that leave, as plain values, with one way to mark a missing value."""
    columns = [
        plain_column(batch.column(name), one_missing=name not in layout.columns).chunk(0)
        for name in schema.names
    ]
    found = pa.RecordBatch.from_arrays(columns, names=schema.names)
    return found.cast(schema)
