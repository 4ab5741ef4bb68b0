"""A collection: media of one kind, each with its labels, in a fixed order, readable many times."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.samples import BadMedia, Clip, Content, Kind, Picture, Sample, Sound

# The column with the file name of a record. It is never a feature: file names may reveal labels.
FILE = "file"


@dataclass(frozen=True, eq=False)
class Item:
    """One medium, not yet decoded. `content` is the reason if it cannot be opened."""

    name: str
    content: Content | BadMedia
    labels: Mapping[str, Any] = field(default_factory=dict)


class Collection(Protocol):
    """Items in order. It decodes nothing, and keeps only names and labels in memory."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def kind(self) -> Kind:
        """The kind of its media."""

    @property
    def schema(self) -> pa.Schema:
        """Of the labels."""

    def __len__(self) -> int:
        """How many items there are, good and bad."""

    def labels(self) -> pa.Table | None:
        """The labels of every item; None where there are none."""

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""

    def stamp(self) -> str:
        """What changes when an item is added, removed or written again; quick."""

    def digest(self) -> str:
        """A hash of the contents; reads all of them."""

    def opened(self) -> dict[str, Any]:
        """The options of `open_media` that decide what is read as media and what as labels."""


class LabelTable:
    """What collections share that have the labels of all items in a table."""

    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """Of the labels."""
        return self.table.schema

    def labels(self) -> pa.Table | None:
        """The labels of every item; None where there are none."""
        return self.table if self.table.num_columns else None


@dataclass(frozen=True, eq=False, repr=False)
class CollectionView:
    """A collection seen through another one: what it does not change is that of the whole."""

    whole: Collection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} {self.kind}s of {self.name})"

    def __len__(self) -> int:
        return len(self.whole)

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.whole.name

    @property
    def kind(self) -> Kind:
        """The kind of its media."""
        return self.whole.kind

    def digest(self) -> str:
        """A hash of the contents."""
        return self.whole.digest()

    def opened(self) -> dict[str, Any]:
        """How the whole was opened."""
        return self.whole.opened()


@dataclass(frozen=True, eq=False, repr=False)
class Selection(CollectionView):
    """Some items of a collection, by their numbers, in the order given."""

    places: npt.NDArray[np.int64]

    @classmethod
    def of(cls, collection: Collection, places: npt.NDArray[np.int64]) -> Selection:
        """Some items; a selection of a selection is one of the whole."""
        if isinstance(collection, Selection):
            return cls(collection.whole, collection.places[places])
        return cls(collection, places)

    @property
    def schema(self) -> pa.Schema:
        """Of the labels."""
        return self.whole.schema

    def __len__(self) -> int:
        return len(self.places)

    def labels(self) -> pa.Table | None:
        """The labels of every item; None where there are none."""
        table = self.whole.labels()
        return None if table is None else table.take(pa.array(self.places))

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on. Ascending selections hold one item at a time."""
        wanted = self.places[start:]
        if (np.diff(wanted) > 0).all():
            yield from self._ascending(wanted.tolist())
            return
        needed = np.unique(wanted)
        held = dict(zip(needed.tolist(), Selection(self.whole, needed).items(), strict=True))
        yield from (held[place] for place in wanted.tolist())

    def _ascending(self, wanted: list[int]) -> Iterator[Item]:
        """Yield the wanted items; those between them are skipped without decoding."""
        if wanted:
            first, chosen = wanted[0], {*wanted}
            items = islice(self.whole.items(first), wanted[-1] - first + 1)
            yield from (item for place, item in enumerate(items, first) if place in chosen)

    def stamp(self) -> str:
        """What changes when an item is added, removed or written again; quick."""
        return f"{self.whole.stamp()} {_places_hash(self.places)}"

    def digest(self) -> str:
        """A hash of the contents."""
        return f"{self.whole.digest()} {_places_hash(self.places)}"


@dataclass(frozen=True, eq=False, repr=False)
class Relabelled(LabelTable, CollectionView):
    """The media of a collection with other labels: a table of as many rows."""

    table: pa.Table

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        for place, item in enumerate(self.whole.items(start), start):
            labels = self.table.slice(place, 1).to_pylist() if self.table.num_columns else [{}]
            yield Item(item.name, item.content, labels[0])

    def stamp(self) -> str:
        """What changes when an item or a label does."""
        labels = hashlib.sha256(repr(self.table.to_pylist()).encode()).hexdigest()
        return f"{self.whole.stamp()} {labels}"


def _places_hash(places: npt.NDArray[np.int64]) -> str:
    return hashlib.sha256(places.tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class Samples(LabelTable):
    """Decoded samples in memory, with a table of labels."""

    samples: Sequence[Sample]
    table: pa.Table
    kind: Kind
    name: str = "the media"

    @classmethod
    def of_pixels(
        cls, pixels: npt.NDArray[np.uint8], table: pa.Table, *, name: str = "the media"
    ) -> Samples:
        """Images (n, h, w, 3) or clips (n, t, h, w, 3)."""
        if pixels.ndim == 5:
            return cls([Clip(p) for p in pixels], table, "clip", name)
        return cls([Picture(p) for p in pixels], table, "image", name)

    def __len__(self) -> int:
        return len(self.samples)

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        rows = self.table.slice(start).to_pylist() if self.table.num_columns else None
        for place, sample in enumerate(self.samples[start:]):
            yield Item(f"record {start + place}", sample, rows[place] if rows else {})

    def stamp(self) -> str:
        """A hash of samples and labels; quick, since they are in memory."""
        return hashlib.sha256(f"{self.digest()} {self.table.to_pylist()}".encode()).hexdigest()

    def digest(self) -> str:
        """A hash of the samples."""
        h = hashlib.sha256(self.kind.encode())
        for sample in self.samples:
            h.update(sample_bytes(sample))
        return h.hexdigest()

    def opened(self) -> dict[str, Any]:
        """Nothing: samples in memory are not opened."""
        return {}


def sample_bytes(sample: Sample) -> bytes:
    """Bytes that identify a decoded sample."""
    if isinstance(sample, str):
        return sample.encode()
    if isinstance(sample, Picture):
        return str(sample.pixels.shape).encode() + sample.pixels.tobytes()
    if isinstance(sample, Sound):
        return str(sample.rate).encode() + sample.samples.tobytes()
    return f"{sample.frames.shape} {sample.rate}".encode() + sample.frames.tobytes()
