"""Pictures of a collection at one size, made when they are read, and written to one file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.atomic import open_new, writing_to
from withhold.datasets.media_file import RECORD, MediaFile
from withhold.media.cutting import decode
from withhold.media.decode.pictures import resized
from withhold.media.encode import encode
from withhold.records.readers import Item
from withhold.records.readers.collection import CollectionView
from withhold.records.samples import BadMedia, ByteArray, Picture
from withhold.records.tables import canonical_bytes

# `whole` squeezes the picture into a square; `centre` cuts the largest square from its middle.
Crop = Literal["whole", "centre"]
COLUMN = "png"
_ROWS = 256  # pictures in memory while writing
_SOURCE = b"withhold.source"


def square(pixels: ByteArray, side: int, crop: Crop) -> ByteArray:
    """Pixels (h, w, 3) as (side, side, 3)."""
    if crop == "centre":
        height, width = pixels.shape[:2]
        edge = min(height, width)
        top, left = (height - edge) // 2, (width - edge) // 2
        pixels = np.ascontiguousarray(pixels[top : top + edge, left : left + edge])
    return resized(pixels, side, side)


@dataclass(frozen=True, eq=False, repr=False)
class SizedPictures(CollectionView):
    """The pictures of a collection as squares of `side` pixels. One is decoded at a time."""

    side: int
    crop: Crop = "whole"

    @property
    def schema(self) -> pa.Schema:
        """Of the labels."""
        return self.whole.schema

    def labels(self) -> pa.Table | None:
        """The labels of every item; None where there are none."""
        return self.whole.labels()

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        for item in self.whole.items(start):
            yield Item(item.name, self._sized(item), item.labels)

    def stamp(self) -> str:
        """What changes when an item is added, removed or written again, or the size changes."""
        return f"{self.whole.stamp()} {self._size}"

    def digest(self) -> str:
        """A hash of the contents."""
        return f"{self.whole.digest()} {self._size}"

    @property
    def _size(self) -> str:
        return f"{self.side} {self.crop}"

    def _sized(self, item: Item) -> Picture | BadMedia:
        if isinstance(item.content, BadMedia):
            return item.content
        try:
            picture = decode(item.content, "image")
            assert isinstance(picture, Picture)
            return Picture(square(picture.pixels, self.side, self.crop))
        except BadMedia as error:
            return error


def write_pictures(pictures: SizedPictures, target: Path) -> MediaFile:
    """Write the pictures as PNG with their labels to a Parquet file, a few at a time.

    Pictures without a column `record` are numbered. A file that was written from the same pictures
    is used again. A picture that cannot be read is null, so that the others keep their numbers.
    """
    file = MediaFile(target, "image", COLUMN)
    labels = pictures.labels()
    assert labels is not None
    if RECORD not in labels.column_names:
        labels = labels.append_column(RECORD, pa.array(np.arange(len(labels))))
    source = _source(pictures, labels)
    if target.exists() and (pq.read_schema(target).metadata or {}).get(_SOURCE) == source:
        return file
    schema = pa.schema([pa.field(COLUMN, pa.binary()), *labels.schema], {_SOURCE: source})
    partial = target.with_name(target.name + ".partial")
    with writing_to(target):
        with open_new(partial) as opened, pq.ParquetWriter(opened, schema) as writer:
            batch: list[bytes | None] = []
            for number, item in enumerate(pictures.items(), 1):
                content = item.content
                batch.append(
                    encode(content, None, ".png") if isinstance(content, Picture) else None
                )
                if len(batch) == _ROWS or number == len(pictures):
                    some = labels.slice(number - len(batch), len(batch))
                    some = some.add_column(0, COLUMN, pa.array(batch, pa.binary()))
                    writer.write_table(some.cast(schema))
                    batch = []
        os.replace(partial, target)
    return file


def _source(pictures: SizedPictures, labels: pa.Table) -> bytes:
    """What changes when a picture, a label or the size does."""
    h = hashlib.sha256(pictures.stamp().encode())
    for name in labels.column_names:
        h.update(name.encode())
        for piece in canonical_bytes(labels[name]):
            h.update(piece)
    return h.hexdigest().encode()
