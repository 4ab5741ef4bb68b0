"""Extract features block by block: threads decode while the network runs.

A block is a fixed range of the collection. What is computed together therefore never depends on
where an earlier run was interrupted, and the same collection gives the same bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.learn.nets.device import core_count, threads
from withhold.media.cutting import Cutting
from withhold.media.extractors.extractor import Extractor, FloatArray, Prepared
from withhold.records.readers import Collection, Item
from withhold.records.readers.collection import FILE
from withhold.records.readers.source import one_line
from withhold.records.samples import BadMedia, Sample
from withhold.records.tables import RECORD, bare_table

# Changes a sample before it is prepared. The numbers are the place of the item in the collection,
# the number of the record within the item, and the attempt. The last attempt must be usable.
Augment = Callable[[Sample, int, int, int], Sample]
ATTEMPTS = 4
FEATURES = "x"  # the column of a dataset with the features
AHEAD = 4  # maximal number of blocks decoded ahead of the network
HELD = 2**28  # approximate bytes prepared and waiting
FORWARD = 2**26  # approximate bytes that go through the network at once
# What libraries raise for a bad file.
STUMBLES = (OSError, ValueError, ArithmeticError, RuntimeError, MemoryError)


@dataclass(frozen=True)
class Skipped:
    """One item that gave no record."""

    place: int
    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Block:
    """Items `start` to `stop` of a collection: raw features (n, d), labels, and skipped items."""

    start: int
    stop: int
    raw: FloatArray
    labels: pa.Table
    places: list[int]  # the item that each record came from
    skipped: list[Skipped]


@dataclass(frozen=True, eq=False)
class _Done:
    """An item reduced to the input of the network."""

    name: str
    labels: Mapping[str, Any]
    prepared: list[tuple[Prepared, dict[str, Any]]]
    reason: str = ""

    @property
    def nbytes(self) -> int:
        """Its size in memory."""
        return sum(prepared.nbytes for prepared, _ in self.prepared)


def label_schema(collection: Collection, cutting: Cutting) -> pa.Schema:
    """The columns of a block's labels."""
    added = cutting.fields
    for name in (FEATURES, RECORD):
        if name in [*collection.schema.names, *(f.name for f in added)]:
            raise UserError(
                f"'{name}' is a label of {collection.name} and also the name of the features;"
                " rename the label"
            )
    clash = [f.name for f in added if f.name in collection.schema.names]
    if clash:
        raise UserError(
            f"'{clash[0]}' is a column of {collection.name}, and cutting its videos adds one of"
            " that name; rename it"
        )
    fields = [f.remove_metadata() for f in collection.schema]
    if cutting.several and FILE not in collection.schema.names:
        fields.insert(0, pa.field(FILE, pa.string()))  # tells which windows belong together
    return pa.schema([*fields, *added])


def block_size(extractor: Extractor, cutting: Cutting) -> int:
    """Items in a block."""
    return max(extractor.batch // (cutting.clips or 1), 1)


@dataclass(frozen=True, eq=False)
class BlockAt:
    """One block by its first item, for the workers of an engine.

    threads: those of torch, as many as where the other blocks are made: their number decides the
    order of sums inside a network, and so the last bits.
    """

    collection: Collection
    extractor: Extractor
    cutting: Cutting
    threads: int

    def __call__(self, start: int) -> Block:
        """The block that begins there."""
        with threads(self.threads):
            return next(blocks(self.collection, self.extractor, self.cutting, start=start))


def blocks(
    collection: Collection,
    extractor: Extractor,
    cutting: Cutting,
    *,
    start: int = 0,
    augment: Augment | None = None,
    workers: int | None = None,
) -> Iterator[Block]:
    """Raw features from item `start` on, which must be the first of a block."""
    schema = label_schema(collection, cutting)
    size = block_size(extractor, cutting)
    workers = workers or core_count()

    def work(item: Item, place: int) -> _Done:
        return _prepared(item, place, extractor, cutting, augment)

    items = enumerate(collection.items(start), start)
    waiting: deque[Future[_Done]] = deque()
    largest = 0
    with ThreadPoolExecutor(workers) as pool:
        try:
            filling = _Filling(start, extractor, schema)
            while True:
                most = _most_ahead(largest, size, workers)
                for place, item in islice(items, max(most - len(waiting), 0)):
                    waiting.append(pool.submit(work, item, place))
                if not waiting:
                    break
                done = waiting.popleft().result()
                largest = max(largest, done.nbytes)
                filling.add(done)
                if filling.items == size:
                    yield filling.block()
                    filling = _Filling(filling.start + size, extractor, schema)
            if filling.items:
                yield filling.block()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _most_ahead(largest: int, size: int, workers: int) -> int:
    """How many items to decode ahead of the network: as many of the largest size seen as fit into
    HELD bytes, so that long recordings do not fill the memory. At least one per worker, plus one.
    """
    if not largest:
        return 2 * workers
    return min(max(HELD // largest, workers + 1), AHEAD * size)


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


def _input(
    sample: Sample, place: int, turn: int, extractor: Extractor, augment: Augment | None
) -> Prepared:
    if augment is None:
        return extractor.prepare(sample)
    # A change can make a usable sample unusable (no face is found any more): draw again.
    for attempt in range(ATTEMPTS):
        try:
            return extractor.prepare(augment(sample, place, turn, attempt))
        except BadMedia:
            continue
    return extractor.prepare(augment(sample, place, turn, ATTEMPTS))


class _Filling:
    """An unfinished block. Prepared samples go through the network as soon as they are a batch, or
    FORWARD bytes. That depends on the media alone, never on timing."""

    def __init__(self, start: int, extractor: Extractor, schema: pa.Schema) -> None:
        self.start, self.extractor, self.schema = start, extractor, schema
        self.items = 0
        self.rows: list[dict[str, Any]] = []
        self.places: list[int] = []
        self.names: list[str] = []
        self.skipped: list[Skipped] = []
        self.raw: list[FloatArray] = [np.empty((0, extractor.dimension), np.float32)]
        self.inputs: list[Prepared] = []
        self.bytes = 0

    def add(self, done: _Done) -> None:
        """Add the next item."""
        place = self.start + self.items
        self.items += 1
        if done.reason:
            self.skipped.append(Skipped(place, done.name, done.reason))
        for prepared, labels in done.prepared:
            self.rows.append({FILE: done.name, **done.labels, **labels})
            self.places.append(place)
            self.names.append(done.name)
            self.inputs.append(prepared)
            self.bytes += prepared.nbytes
            if len(self.inputs) == self.extractor.batch or self.bytes >= FORWARD:
                self._forward()

    def _forward(self) -> None:
        if self.inputs:
            self.raw.append(self.extractor.forward(self.inputs))
        self.inputs, self.bytes = [], 0

    def block(self) -> Block:
        """The block, when it is full or the items have ended."""
        self._forward()
        raw = np.concatenate(self.raw)
        good = np.isfinite(raw).all(axis=1)
        for bad in np.flatnonzero(~good):
            what = "its features are NaN or infinite"
            self.skipped.append(Skipped(self.places[bad], self.names[bad], what))
        keep = np.flatnonzero(good)
        labels = bare_table(len(keep))
        if self.schema.names:
            labels = pa.Table.from_pylist([self.rows[i] for i in keep], schema=self.schema)
        return Block(
            self.start,
            self.start + self.items,
            raw[keep],
            labels,
            [self.places[i] for i in keep],
            sorted(self.skipped, key=lambda s: s.place),
        )
