"""Release a Dask DataFrame, partition by partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.release.engines.batch_look import WithDigests
from withhold.release.engines.distributed import DistributedRelease, EngineRelease
from withhold.release.engines.hidden_columns import COUNTS, DIGEST, NUMBER, PLACE, signed, signless
from withhold.release.engines.optional_engine import needed
from withhold.release.keyed_order import occurrences, total_of
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
    """The rows of the frame that may leave, as a Dask frame, with their certificate.

    The scheduler that Dask is set to runs it. The modified rows are kept by it (`persist`), since
    they are read for the certificate and by the caller.
    """
    dask, frames = needed("dask"), needed("dask.dataframe")
    first = frame.head(1, npartitions=-1)
    schema = pa.Table.from_pandas(first, preserve_index=False).schema.remove_metadata()
    todo = DistributedRelease(
        bundle,
        schema,
        Wishes.of(keep=keep, drop=drop),
        features=features,
        shape=shape,
        name="the frame",
    )
    parts = frame.to_delayed()
    look = dask.delayed(_table)
    todo.decide(
        int(sum(dask.compute(*[dask.delayed(len)(p) for p in parts]))),
        lambda batch_look: dask.compute(*[look(p, batch_look, schema) for p in parts]),
    )
    marked = [look(p, WithDigests(todo.digests), schema) for p in parts]
    total = None
    if todo.by_row:
        found = dask.compute(*[dask.delayed(_digests)(m) for m in marked])
        whole = np.concatenate(found)
        counted = occurrences(whole)
        total = total_of(whole, counted)
        numbers = np.split(counted, np.cumsum([len(f) for f in found])[:-1])
        marked = [dask.delayed(_with_numbers)(m, c) for m, c in zip(marked, numbers, strict=True)]
    modifier = todo.modifier(total)
    assert modifier.leaving is not None
    made = dask.persist(*[dask.delayed(modifier)(m) for m in marked])
    empty = modifier.leaving.append(pa.field(PLACE, pa.int64())).empty_table().to_pandas()
    rows = frames.from_delayed([dask.delayed(_rows)(m) for m in made], meta=empty)
    counts = dask.compute(*[dask.delayed(_counts)(m) for m in made])
    return todo.finish(rows.sort_values(PLACE).drop(columns=[PLACE]), counts)


def _table(part: Any, function: Any, schema: pa.Schema) -> pa.Table:
    return function(pa.Table.from_pandas(part, schema=schema, preserve_index=False))


def _digests(table: pa.Table) -> Any:
    return signless(table[DIGEST])


def _with_numbers(table: pa.Table, counted: Any) -> pa.Table:
    return table.append_column(NUMBER, pa.array(signed(counted.astype(np.uint64))))


def _rows(table: pa.Table) -> Any:
    return table.drop_columns([COUNTS]).to_pandas()


def _counts(table: pa.Table) -> pa.Table:
    return table.select([COUNTS])
