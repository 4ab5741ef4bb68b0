"""Images of a media set as arrays, for benches that read pixels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.progress import Progress
from withhold.datasets.media_sets import RECORD, MediaFile
from withhold.media.pixel_tensor import pixel_tensor
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.readers import open_media

PixelArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class PixelSet:
    """Images (n, side, side, 3) with their labels and the parts train, val and test."""

    images: PixelArray
    labels: pa.Table

    @classmethod
    def of(cls, file: MediaFile, side: int, progress: Progress) -> PixelSet:
        """Decode and resize all images of a file."""
        media = Dataset.of_media(open_media(file.path, file.kind, column=file.column))
        kept, pixels = pixel_tensor(media, side, progress=progress)
        names = [n for n in kept.table.column_names if n not in (file.column, RECORD)]
        images = np.ascontiguousarray(pixels.permute(0, 2, 3, 1).numpy())
        return cls(images, kept.table.select(names))

    def dataset(self) -> Dataset:
        """As a dataset of images."""
        return Dataset.from_arrays(self.images, self.labels)

    def flat(self) -> Dataset:
        """As a dataset of features: the pixels of each image in a row, in 0 to 1."""
        x = self.images.reshape(len(self.images), -1).astype(np.float32) / 255
        return Dataset.from_arrays(x, self.labels)

    def rows(self, part: str) -> npt.NDArray[np.int64]:
        """The rows of a part."""
        return np.flatnonzero(np.asarray(self.labels["split"].to_pylist()) == part)

    def attribute(self, name: str) -> Attribute:
        """The classes of all images."""
        return self.dataset().attribute(name)


def planes(images: PixelArray) -> PixelArray:
    """(n, h, w, 3) to (n, 3, h, w), as networks take them."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def folder_of(output: Path, seed: int) -> Path:
    """Where the results of one seed are."""
    return output / f"seed-{seed}"
