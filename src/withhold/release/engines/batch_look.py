"""A look at a batch, for the decision about columns: a sum over its rows, and a few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.columns.measure_columns import MOST
from withhold.records.plain import plain_table
from withhold.release.engines.batch_digests import BatchDigests
from withhold.release.engines.hidden_columns import DIGEST, signed, signless
from withhold.release.engines.pieces import one_batch
from withhold.release.keyed_order import total_of
from withhold.release.survey import WIDE, Survey, Surveyed, measurable

LOOK = pa.schema(
    [("records", pa.int64()), ("total", pa.int64()), ("flat", pa.binary()), ("wide", pa.binary())]
)  # one row for each batch
_X = "\0x"


@dataclass(frozen=True, eq=False)
class BatchLook:
    """look(table) -> a table `LOOK` with one row.

    The sample has the rows with the smallest digests, so that it does not depend on partitions. A
    batch shows the rows with digests below a limit, of which there are enough in all.
    """

    digests: BatchDigests
    flat: float  # rows with digests below this share of all digests
    wide: float

    @classmethod
    def of(cls, digests: BatchDigests, records: int, times: int = 1) -> BatchLook:
        """For so many records. times: how far the limits are, if the usual ones were too low."""
        flat, wide = (
            times * (most + 10 * most**0.5) / max(records, 1) if records > most else 1.0
            for most in (MOST, WIDE)
        )
        return cls(digests, min(flat, 1.0), min(wide, 1.0))

    def __call__(self, table: pa.Table) -> pa.Table:
        """The look at one batch."""
        x, others = self.digests.parts(one_batch(table))
        others = plain_table(others)
        words = self.digests.of_parts(x, others)
        few = np.flatnonzero(words <= np.uint64(min(self.flat * 2.0**64, 2**64 - 2048)))
        fewer = np.flatnonzero(words <= np.uint64(min(self.wide * 2.0**64, 2**64 - 2048)))
        if self.flat >= 1:
            few = np.arange(len(words))
        if self.wide >= 1:
            fewer = np.arange(len(words))
        flat, nested = measurable(others)
        marks = pa.array(signed(words))
        features = pa.FixedSizeListArray.from_arrays(pa.array(x[fewer].reshape(-1)), x.shape[1])
        lists = nested.append_column(DIGEST, marks).take(pa.array(fewer))
        row = {
            "records": [len(x)],
            "total": [int(np.int64(signed(np.array([total_of(words)], np.uint64))[0]))],
            "flat": [_packed(flat.append_column(DIGEST, marks).take(pa.array(few)))],
            "wide": [_packed(lists.append_column(_X, features))],
        }
        return pa.table(row, schema=LOOK)


@dataclass(frozen=True, eq=False)
class WithDigests:
    """with_digests(table) -> the table with the column DIGEST."""

    digests: BatchDigests

    def __call__(self, table: pa.Table) -> pa.Table:
        """The same rows with their digests."""
        x, others = self.digests.parts(one_batch(table))
        words = self.digests.of_parts(x, plain_table(others))
        return table.append_column(DIGEST, pa.array(signed(words)))


@dataclass(frozen=True, eq=False)
class InTurn:
    """Several functions on batches as one."""

    functions: tuple[Callable[[pa.Table], pa.Table], ...]

    def __call__(self, table: pa.Table) -> pa.Table:
        """One function after the other."""
        for function in self.functions:
            table = function(table)
        return table


@dataclass(frozen=True, eq=False)
class Looked:
    """All looks together. records and total: over all rows; survey: the sample; enough: whether the
    sample has as many rows as it may have."""

    records: int
    total: int
    survey: Survey
    enough: bool

    @classmethod
    def of(cls, looks: Iterable[pa.Table]) -> Looked:
        """From tables `LOOK`, in any order."""
        records, total, found = 0, 0, Surveyed()
        for look in looks:
            for row in look.to_pylist():
                records += row["records"]
                total += (row["total"] + 2**63) % 2**64
                flat, wide = _unpacked(row["flat"]), _unpacked(row["wide"])
                found.add_flat(flat.drop_columns([DIGEST]), signless(flat[DIGEST]))
                lists = wide.drop_columns([_X, DIGEST])
                found.add_wide(_matrix(wide[_X]), lists, signless(wide[DIGEST]))
        return cls(records, total, found.result(), found.full(records))


def _matrix(column: pa.ChunkedArray) -> npt.NDArray[np.float32]:
    whole = column.combine_chunks()
    width = whole.type.list_size
    return np.array(whole.flatten().to_numpy()).reshape(-1, width)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _unpacked(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
