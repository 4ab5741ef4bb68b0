"""Clips of a media set as arrays, and what target models learn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bench.clip_settings import ClipSettings
from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.datasets.media_file import RECORD, MediaFile
from withhold.media.clip_tensor import FrameSize, clip_tensor
from withhold.media.decode.pictures import resized
from withhold.media.image_detail import COLOURS
from withhold.media.pixel_tensor import image_tensor
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.readers import open_media

PixelArray = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClipSet:
    """Clips (n, t, h, w, 3) with their labels and the parts train, val and test."""

    clips: PixelArray
    labels: pa.Table

    @classmethod
    def of(cls, file: MediaFile, how: ClipSettings, progress: Progress) -> ClipSet:
        """Decode and resize all clips of a file. An image becomes a clip of equal frames."""
        media = Dataset.of_media(open_media(file.path, file.kind, column=file.column))
        height, width = how.height, how.width
        if file.kind == "image":
            shape = (COLOURS, height, width)
            kept, images = image_tensor(
                media, shape, lambda x: resized(x, height, width).transpose(2, 0, 1), progress
            )
            pixels = images[:, None].expand(-1, how.kept, -1, -1, -1)
        else:
            size = FrameSize(how.kept, height, width)
            kept, pixels = clip_tensor(media, size, progress=progress)
        names = [n for n in kept.table.column_names if n not in (file.column, RECORD)]
        clips = np.ascontiguousarray(pixels.permute(0, 1, 3, 4, 2).numpy())
        return cls(clips, kept.table.select(names))

    def __len__(self) -> int:
        return len(self.clips)

    def dataset(self) -> Dataset:
        """As a dataset of clips."""
        return Dataset.from_arrays(self.clips, self.labels)

    def rows(self, rows: Rows) -> ClipSet:
        """Some of the clips."""
        return ClipSet(self.clips[rows], self.labels.take(pa.array(rows)))

    def with_classes(self, classes: Mapping[str, Sequence[str]], *, seen: bool) -> ClipSet:
        """The clips whose values are among these classes, or, with `seen`, among no such class.

        An attribute that the set does not have divides nothing.
        """
        kept = np.ones(len(self), bool)
        for name, values in classes.items():
            if name in self.labels.column_names:
                held = np.array([str(v) for v in self.labels[name].to_pylist()])
                unknown = set(values) - set(held.tolist())
                if unknown:
                    raise UserError(f"no clip has {name} {listing(sorted(unknown))}")
                kept &= np.isin(held, list(values)) != seen
        return self.rows(np.flatnonzero(kept))

    def beside(self, other: ClipSet) -> ClipSet:
        """Clips of both sets; labels that only one has are null in the other."""
        joined = pa.concat_tables([self.labels, other.labels], promote_options="default")
        return ClipSet(np.concatenate([self.clips, other.clips]), joined)

    def truth(self, name: str, attributes: Sequence[str]) -> Attribute:
        """One attribute, or several as binary labels of one multi-label attribute."""
        if len(attributes) == 1:
            return replace(self.dataset().attribute(attributes[0]), name=name)
        return self.binary_labels(name, attributes)

    def binary_labels(self, name: str, attributes: Sequence[str]) -> Attribute:
        """Attributes as binary labels of one multi-label attribute.

        A binary attribute gives one label, its last class; another gives one for each class.
        """
        data = self.dataset()
        found = [data.attribute(n) for n in attributes]
        labels, codes = [], []
        for one in found:
            columns = range(len(one.classes)) if one.multilabel else _shown(one)
            for k in columns:
                own = one.codes[:, k] if one.multilabel else (one.codes == k).astype(np.int64)
                codes.append(np.where(one.known, own, -1))
                labels.append(f"{one.name} {one.classes[k]}")
        return Attribute(name, "multilabel", tuple(labels), np.stack(codes, axis=1))


def _shown(attribute: Attribute) -> range:
    """The classes that are labels: of two, the last says all."""
    k = len(attribute.classes)
    return range(1, k) if k == 2 else range(k)


@dataclass(frozen=True, eq=False)
class ClipTarget:
    """What fresh models learn: an attribute of some clips. `of` names the set they are in.

    Several targets may have one `truth`, so that one model learns it for all of them; each target
    then has its own `labels` of that multi-label attribute. None: all.
    """

    of: str
    truth: Attribute
    parts: npt.NDArray[np.str_]
    video: npt.NDArray[np.int64] | None
    labels: slice | None = None

    @classmethod
    def made(
        cls, of: str, clips: ClipSet, truth: Attribute, video: str, labels: slice | None = None
    ) -> ClipTarget:
        """From the labels of a set."""
        parts = np.asarray(clips.labels["split"].to_pylist())
        groups = None
        if video and video in clips.labels.column_names:
            names = np.array([str(v) for v in clips.labels[video].to_pylist()])
            groups = np.unique(names, return_inverse=True)[1].astype(np.int64)
        return cls(of, truth, parts, groups, labels)

    @property
    def own(self) -> Attribute:
        """What is measured: the labels of this target."""
        if self.labels is None:
            return self.truth
        truth = self.truth
        return Attribute(
            truth.name, truth.kind, truth.classes[self.labels], truth.codes[:, self.labels]
        )

    def scores(self, scores: FloatArray) -> FloatArray:
        """The scores (n, labels) of this target, of all that a model gives."""
        return scores if self.labels is None else scores[:, self.labels]

    def rows(self, part: str) -> Rows:
        """The rows of a part that have a label."""
        return np.flatnonzero((self.parts == part) & self.truth.known)


def planes(clips: PixelArray) -> PixelArray:
    """(n, t, h, w, 3) to (n, t, 3, h, w), as networks take them."""
    return np.ascontiguousarray(clips.transpose(0, 1, 4, 2, 3))
