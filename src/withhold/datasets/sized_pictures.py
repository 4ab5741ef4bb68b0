"""Pictures of a collection at one size, made when they are read, and written to one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from withhold.core.progress import Progress
from withhold.datasets.media_file import MediaFile
from withhold.datasets.written_media import write_media
from withhold.media.cutting import decode
from withhold.media.decode.pictures import resized
from withhold.records.readers import Item
from withhold.records.readers.collection import CollectionView
from withhold.records.samples import BadMedia, ByteArray, Picture

# `whole` squeezes the picture into a square; `centre` cuts the largest square from its middle.
Crop = Literal["whole", "centre"]
COLUMN = "png"


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


def write_pictures(
    pictures: SizedPictures, target: Path, *, progress: Progress | None = None
) -> MediaFile:
    """Write the pictures as PNG with their labels to a Parquet file, as `write_media` does."""
    return write_media(pictures, target, ".png", progress=progress)
