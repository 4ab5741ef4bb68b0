"""Media through an extractor, block by block: decoding in threads, the network beside them.

A block is a fixed stretch of the collection, so that what is computed together never depends on
where an earlier run was interrupted: the same collection gives the same bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.data.files.source import one_line
from withhold.errors import UserError
from withhold.media.collect import Collection, Item
from withhold.media.cutting import Cutting
from withhold.media.extractors.extractor import Extractor, FloatArray, Prepared
from withhold.media.samples import BadMedia, Sample
from withhold.nets.device import core_count
from withhold.tables import bare_table

# What a sample becomes before it is prepared; the number is the item's place in the collection.
Augment = Callable[[Sample, int], Sample]
AHEAD = 4  # blocks decoded ahead of the network, at most


@dataclass(frozen=True)
class Skipped:
    """One item that gave no record."""

    place: int
    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Block:
    """Items `start` to `stop` of a collection: raw features (n, d), labels, and who is missing."""

    start: int
    stop: int
    raw: FloatArray
    labels: pa.Table
    places: list[int]  # the item that each record came from
    skipped: list[Skipped]


@dataclass(frozen=True, eq=False)
class _Done:
    prepared: list[tuple[Prepared, dict[str, Any]]]
    reason: str = ""


def label_schema(collection: Collection, cutting: Cutting) -> pa.Schema:
    """The columns of a block's labels."""
    added = cutting.fields
    clash = [f.name for f in added if f.name in collection.schema.names]
    if clash:
        raise UserError(
            f"'{clash[0]}' is a column of {collection.name} and of its annotations; rename one"
        )
    return pa.schema([*(f.remove_metadata() for f in collection.schema), *added])


def blocks(
    collection: Collection,
    extractor: Extractor,
    cutting: Cutting,
    *,
    start: int = 0,
    augment: Augment | None = None,
    workers: int | None = None,
) -> Iterator[Block]:
    """Raw features of everything from item `start` on, which must begin a block."""
    schema = label_schema(collection, cutting)
    size = extractor.batch

    def work(item: Item, place: int) -> _Done:
        return _prepared(item, place, extractor, cutting, augment)

    items = collection.items(start)
    waiting: deque[tuple[list[Item], list[Future[_Done]]]] = deque()
    with ThreadPoolExecutor(workers or core_count()) as pool:
        try:
            first = start
            place = start
            while True:
                while len(waiting) < AHEAD and (some := list(islice(items, size))):
                    waiting.append(
                        (some, [pool.submit(work, it, place + i) for i, it in enumerate(some)])
                    )
                    place += len(some)
                if not waiting:
                    return
                some, futures = waiting.popleft()
                done = [future.result() for future in futures]
                yield _block(first, some, done, extractor, schema)
                first += len(some)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _prepared(
    item: Item, place: int, extractor: Extractor, cutting: Cutting, augment: Augment | None
) -> _Done:
    try:
        cut = cutting.cut(item, place)
        return _Done([(_input(s, place, extractor, augment), labels) for s, labels in cut])
    except BadMedia as error:
        return _Done([], str(error))
    except UserError:
        raise
    except (OSError, ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
        # A library that stumbles over one file; the run goes on.
        return _Done([], f"{type(error).__name__}: {one_line(error)}")


def _input(sample: Sample, place: int, extractor: Extractor, augment: Augment | None) -> Prepared:
    if augment is None:
        return extractor.prepare(sample)
    try:
        return extractor.prepare(augment(sample, place))
    except BadMedia:
        # What can be used as it is may become unusable (no face is found any more): then as it is.
        return extractor.prepare(sample)


def _block(
    start: int,
    items: Sequence[Item],
    done: Sequence[_Done],
    extractor: Extractor,
    schema: pa.Schema,
) -> Block:
    rows: list[dict[str, Any]] = []
    inputs: list[Prepared] = []
    places: list[int] = []
    skipped: list[Skipped] = []
    for place, (item, one) in enumerate(zip(items, done, strict=True), start):
        if one.reason:
            skipped.append(Skipped(place, item.name, one.reason))
        for prepared, labels in one.prepared:
            inputs.append(prepared)
            rows.append({**item.labels, **labels})
            places.append(place)
    raw = np.empty((len(inputs), extractor.dimension), np.float32)
    for first in range(0, len(inputs), extractor.batch):
        some = slice(first, first + extractor.batch)
        raw[some] = extractor.forward(inputs[some])
    good = np.isfinite(raw).all(axis=1)
    for bad in np.flatnonzero(~good):
        item = items[places[bad] - start]
        skipped.append(Skipped(places[bad], item.name, "its features are NaN or infinite"))
    keep = np.flatnonzero(good)
    labels = bare_table(len(keep))
    if schema.names:
        labels = pa.Table.from_pylist([rows[i] for i in keep], schema=schema)
    return Block(
        start,
        start + len(items),
        raw[keep],
        labels,
        [places[i] for i in keep],
        sorted(skipped, key=lambda s: s.place),
    )
