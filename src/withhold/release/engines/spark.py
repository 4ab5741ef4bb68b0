"""Release a Spark DataFrame where it is, with `mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.release.engines.batch_look import LOOK, WithDigests
from withhold.release.engines.distributed import ROWS, DistributedRelease, EngineRelease
from withhold.release.engines.engine import InWorker, opened
from withhold.release.engines.hidden_columns import COUNTS, DIGEST, NUMBER, PLACE, signed, signless
from withhold.release.engines.optional_engine import needed
from withhold.release.keyed_order import total_of
from withhold.release.wishes import Wishes


def release(
    frame: Any,
    bundle: Bundle | str | Path,
    *,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    features: str | None = None,
    shape: str = "code",
) -> EngineRelease:
    """The rows of the frame that may leave, as a frame, with their certificate.

    The frame is read twice, by as many tasks as it has partitions. The result is kept by Spark
    (`data.unpersist()` gives that back), since it is read for the certificate and by the caller. A
    bundle that is named by its folder is opened by every worker, so the folder must be on a disk
    that all of them see; a Bundle is sent to them.
    """
    types, sql = needed("pyspark.sql.pandas.types"), needed("pyspark.sql.functions")
    schema = types.to_arrow_schema(frame.schema)
    todo = DistributedRelease(
        bundle,
        schema,
        Wishes.of(keep=keep, drop=drop),
        features=features,
        shape=shape,
        name="the frame",
    )
    todo.decide(
        frame.count(), lambda look: [_mapped(frame, look, types.from_arrow_schema(LOOK)).toArrow()]
    )
    with_digest = types.from_arrow_schema(schema.append(pa.field(DIGEST, pa.int64())))
    marked = _mapped(frame, WithDigests(todo.digests), with_digest)
    total = None
    if todo.by_row:
        # Equal rows are interchangeable, so any order among them will do.
        equal = needed("pyspark.sql.window").Window.partitionBy(DIGEST).orderBy(DIGEST)
        number = (sql.row_number().over(equal) - 1).cast("long")
        # As `signed` makes it: moved by 2^63.
        marked = marked.withColumn(NUMBER, number + sql.lit(-(2**63)))
        parts = _mapped(marked.select(DIGEST, NUMBER), _total, "total long").toArrow()
        total = sum((t + 2**63) % 2**64 for t in parts["total"].to_pylist())
    modifier = todo.modifier(total)
    assert modifier.leaving is not None
    modifier.leaving = spark_schema(modifier.leaving)
    made = _mapped(marked, modifier, types.from_arrow_schema(_with_hidden(modifier.leaving)))
    made = made.persist(needed("pyspark").StorageLevel.MEMORY_AND_DISK)
    counts = made.select(COUNTS).where(sql.col(COUNTS).isNotNull()).toArrow()
    return todo.finish(made.orderBy(PLACE).drop(PLACE, COUNTS), [counts])


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns in types that Spark has: lists of any length, and signed numbers."""
    return pa.schema([pa.field(f.name, _spark_type(f.type)) for f in schema])


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    return pa.float32() if pa.types.is_float16(kind) else kind


def _with_hidden(schema: pa.Schema) -> pa.Schema:
    return schema.append(pa.field(PLACE, pa.int64())).append(pa.field(COUNTS, pa.binary()))


def _mapped(frame: Any, function: Any, schema: Any) -> Any:
    shared = frame.sparkSession.sparkContext.broadcast(InWorker(function))
    return frame.mapInArrow(_OverBatches(shared), schema)


@dataclass(frozen=True)
class _OverBatches:
    """The function of `mapInArrow`: batches in, batches out. A worker loads the function once."""

    shared: Any

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, len(batch), ROWS):
                table = pa.Table.from_batches([batch.slice(start, ROWS)])
                yield from opened(self.shared.value(table)).to_batches()


def _total(table: pa.Table) -> pa.Table:
    """The sum of `total_of`, moved by 2^63 as `signed` does."""
    found = np.array([total_of(signless(table[DIGEST]), signless(table[NUMBER]))], np.uint64)
    return pa.table({"total": signed(found)})
