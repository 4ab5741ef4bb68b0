"""Media through an extractor, block by block: decoding in threads, the network beside them.

A block is a fixed stretch of the collection, so that what is computed together never depends on
where an earlier run was interrupted: the same collection gives the same bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from withhold.tables import RECORD, bare_table

# What a sample becomes before it is prepared; the numbers are the item's place in the collection,
# and which of the item's records it is.
Augment = Callable[[Sample, int, int], Sample]
FEATURES = "x"  # the column of a dataset that holds them
AHEAD = 4  # blocks decoded ahead of the network, at most
HELD = 2**28  # bytes; with more than this prepared, fewer blocks are
# What libraries raise that stumble over one file.
STUMBLES = (OSError, ValueError, ArithmeticError, RuntimeError, MemoryError)


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
    """An item of which no more is held than what goes into the network."""

    name: str
    labels: Mapping[str, Any]
    prepared: list[tuple[Prepared, dict[str, Any]]]
    reason: str = ""


def label_schema(collection: Collection, cutting: Cutting) -> pa.Schema:
    """The columns of a block's labels."""
    added = cutting.fields
    for name in (FEATURES, RECORD):
        if name in [*collection.schema.names, *(f.name for f in added)]:
            raise UserError(
                f"'{name}' names a label of {collection.name}, and the features are called so;"
                " rename the label"
            )
    clash = [f.name for f in added if f.name in collection.schema.names]
    if clash:
        raise UserError(
            f"'{clash[0]}' is a column of {collection.name}, and cutting its videos adds one of"
            " that name; rename it"
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
    size = max(extractor.batch // (cutting.clips or 1), 1)

    def work(item: Item, place: int) -> _Done:
        return _prepared(item, place, extractor, cutting, augment)

    items = enumerate(collection.items(start), start)
    waiting: deque[list[Future[_Done]]] = deque()
    ahead = 2  # until it is known how large they are
    with ThreadPoolExecutor(workers or core_count()) as pool:
        try:
            first = start
            while True:
                while len(waiting) < ahead and (
                    some := [pool.submit(work, item, place) for place, item in islice(items, size)]
                ):
                    waiting.append(some)
                if not waiting:
                    return
                done = [future.result() for future in waiting.popleft()]
                ahead = _ahead(done)
                yield _block(first, done, extractor, schema)
                first += len(done)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _prepared(
    item: Item, place: int, extractor: Extractor, cutting: Cutting, augment: Augment | None
) -> _Done:
    reason = ""
    prepared = []
    try:
        for turn, (sample, labels) in enumerate(cutting.cut(item, place)):
            prepared.append((_input(sample, place, turn, extractor, augment), labels))
    except BadMedia as error:
        prepared, reason = [], str(error)
    except UserError:
        raise
    except STUMBLES as error:
        prepared, reason = [], f"{type(error).__name__}: {one_line(error)}"
    return _Done(item.name, item.labels, prepared, reason)


def _ahead(done: Sequence[_Done]) -> int:
    """How many blocks like this one to hold; two at least, so that decoding never waits."""
    size = sum(prepared.nbytes for one in done for prepared, _ in one.prepared)
    return min(max(HELD // max(size, 1), 2), AHEAD)


def _input(
    sample: Sample, place: int, turn: int, extractor: Extractor, augment: Augment | None
) -> Prepared:
    if augment is None:
        return extractor.prepare(sample)
    try:
        return extractor.prepare(augment(sample, place, turn))
    except BadMedia:
        # What can be used as it is may become unusable (no face is found any more): then as it is.
        return extractor.prepare(sample)


def _block(start: int, done: Sequence[_Done], extractor: Extractor, schema: pa.Schema) -> Block:
    rows: list[dict[str, Any]] = []
    inputs: list[Prepared] = []
    places: list[int] = []
    skipped: list[Skipped] = []
    for place, one in enumerate(done, start):
        if one.reason:
            skipped.append(Skipped(place, one.name, one.reason))
        for prepared, labels in one.prepared:
            inputs.append(prepared)
            rows.append({**one.labels, **labels})
            places.append(place)
    raw = np.empty((len(inputs), extractor.dimension), np.float32)
    for first in range(0, len(inputs), extractor.batch):
        some = slice(first, first + extractor.batch)
        raw[some] = extractor.forward(inputs[some])
    good = np.isfinite(raw).all(axis=1)
    for bad in np.flatnonzero(~good):
        name = done[places[bad] - start].name
        skipped.append(Skipped(places[bad], name, "its features are NaN or infinite"))
    keep = np.flatnonzero(good)
    labels = bare_table(len(keep))
    if schema.names:
        labels = pa.Table.from_pylist([rows[i] for i in keep], schema=schema)
    return Block(
        start,
        start + len(done),
        raw[keep],
        labels,
        [places[i] for i in keep],
        sorted(skipped, key=lambda s: s.place),
    )
