"""A collection: media of one kind, each with its labels, in a fixed order, readable many times."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from withhold.records.samples import BadMedia, Content, Kind, Picture, Sample, Sound

# The column that names the file of a record; it is never a feature and tells more than it seems.
FILE = "file"


@dataclass(frozen=True, eq=False)
class Item:
    """One medium, not yet decoded; `content` is the reason where it cannot even be opened."""

    name: str
    content: Content | BadMedia
    labels: Mapping[str, Any] = field(default_factory=dict)


class Collection(Protocol):
    """Items in order. Nothing is decoded here, and no more is held than names and labels."""

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


@dataclass(frozen=True, eq=False)
class Samples:
    """Decoded samples in memory, with a table of labels."""

    samples: Sequence[Sample]
    table: pa.Table
    kind: Kind
    name: str = "the media"

    @property
    def schema(self) -> pa.Schema:
        """Of the labels."""
        return self.table.schema

    def __len__(self) -> int:
        return len(self.samples)

    def labels(self) -> pa.Table | None:
        """The labels of every item."""
        return self.table if self.table.num_columns else None

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        rows = self.table.slice(start).to_pylist() if self.table.num_columns else None
        for place, sample in enumerate(self.samples[start:]):
            yield Item(f"record {start + place}", sample, rows[place] if rows else {})

    def stamp(self) -> str:
        """A hash of samples and labels: what is in memory is quickly read."""
        return hashlib.sha256(f"{self.digest()} {self.table.to_pylist()}".encode()).hexdigest()

    def digest(self) -> str:
        """A hash of the samples."""
        h = hashlib.sha256(self.kind.encode())
        for sample in self.samples:
            h.update(sample_bytes(sample))
        return h.hexdigest()


def sample_bytes(sample: Sample) -> bytes:
    """The bytes that tell a decoded sample from others."""
    if isinstance(sample, str):
        return sample.encode()
    if isinstance(sample, Picture):
        return str(sample.pixels.shape).encode() + sample.pixels.tobytes()
    if isinstance(sample, Sound):
        return str(sample.rate).encode() + sample.samples.tobytes()
    return f"{sample.frames.shape} {sample.rate}".encode() + sample.frames.tobytes()
