"""What is sent to a worker and back: record batches with a few facts about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.release.release_counts import ReleaseCounts


@dataclass(frozen=True, eq=False)
class Piece:
    """Records of a source from row `start` on; nonces: (n, 2) tell equal rows apart; leaves: (n,),
    which rows leave, if some are held back."""

    batch: pa.RecordBatch
    start: int = 0
    nonces: npt.NDArray[np.uint64] | None = None
    leaves: npt.NDArray[np.bool_] | None = None

    def __reduce__(self) -> Any:
        return _piece, (_packed(self.batch), self.start, self.nonces, self.leaves)


@dataclass(frozen=True, eq=False)
class MadePiece:
    """What leaves of a piece, and its counts for the certificate."""

    batch: pa.RecordBatch
    counts: ReleaseCounts

    def __reduce__(self) -> Any:
        return _made_piece, (_packed(self.batch), self.counts)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table as one batch. An engine may cut its tables into chunks."""
    found = table.combine_chunks().to_batches()
    if len(found) == 1:
        return found[0]
    return pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in table.schema], schema=table.schema
    )


def _packed(batch: pa.RecordBatch) -> pa.Buffer:
    """The batch alone: a pickled slice of a table would take the whole table along."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def _unpacked(data: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_next_batch()


def _piece(
    data: pa.Buffer,
    start: int,
    nonces: npt.NDArray[np.uint64] | None,
    leaves: npt.NDArray[np.bool_] | None,
) -> Piece:
    return Piece(_unpacked(data), start, nonces, leaves)


def _made_piece(data: pa.Buffer, counts: ReleaseCounts) -> MadePiece:
    return MadePiece(_unpacked(data), counts)
