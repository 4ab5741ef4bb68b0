"""Windows of videos as square clips, made when they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from withhold.datasets.sized_pictures import Crop, square
from withhold.media.decode.clips import count_frames, each_window
from withhold.media.decode.pictures import decode_picture
from withhold.media.pipeline import STUMBLES
from withhold.media.windows import Window, equidistant_windows
from withhold.records.readers import Collection, Item
from withhold.records.readers.collection import CollectionView, LabelTable
from withhold.records.samples import BadMedia, Clip, Picture, kind_of

LEAST = 16  # frames of the shortest video that gives a clip, unless fewer are asked for


@dataclass(frozen=True)
class ClipCut:
    """How videos become clips: `clips` windows at equal distances, each of `frames` frames, every
    `step`th, as squares of `side` pixels.

    A video that is too short gets a smaller step, then fewer frames, at least `LEAST`. A still
    image becomes one clip of equal frames.
    """

    side: int = 112
    crop: Crop = "whole"
    frames: int = 16
    step: int = 2
    clips: int = 1

    def windows(self, count: int) -> list[Window]:
        """The windows of a video of `count` frames; raises BadMedia if it has too few."""
        frames = min(self.frames, max(count, min(self.frames, LEAST)))
        return equidistant_windows(count, self.clips, frames, self.step)

    def around(self, frame: int, count: int) -> Window:
        """The window of a video of `count` frames whose middle is nearest to `frame`."""
        window = ClipCut(frames=self.frames, step=self.step).windows(count)[0]
        span = window.last - window.first
        first = min(max(frame - span // 2, 0), count - 1 - span)
        return Window(first, window.frames, window.step)


@dataclass(frozen=True, eq=False, repr=False)
class ClipWindows(LabelTable, CollectionView):
    """Clips of the videos of a collection. One video is decoded at a time.

    `table` has the labels of every clip. Each video gives `cut.clips` clips, a still image one;
    `given` has the windows of the videos that give others, by their place, ordered by last frame.
    """

    table: pa.Table
    cut: ClipCut
    given: Mapping[int, Sequence[Window]] = field(default_factory=dict)

    @property
    def kind(self) -> Literal["clip"]:
        """Clips, also of still images."""
        return "clip"

    def __len__(self) -> int:
        return len(self.table)

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        number = 0
        for place, item in enumerate(self.whole.items()):
            clips = self._count(place, item)
            if number + clips > start:
                first = max(start - number, 0)
                rows = self.table.slice(number + first, clips - first).to_pylist()
                found = self._clips(place, item, clips)[first:]
                for content, labels in zip(found, rows, strict=True):
                    yield Item(item.name, content, labels)
            number += clips

    def stamp(self) -> str:
        """What changes when a video is added, removed or written again, or is cut otherwise."""
        return f"{self.whole.stamp()} {self._cut_hash()}"

    def digest(self) -> str:
        """A hash of the contents."""
        return f"{self.whole.digest()} {self._cut_hash()}"

    def _cut_hash(self) -> str:
        given = sorted((place, tuple(windows)) for place, windows in self.given.items())
        return hashlib.sha256(f"{self.cut} {given}".encode()).hexdigest()

    def _count(self, place: int, item: Item) -> int:
        if place in self.given:
            return len(self.given[place])
        return 1 if kind_of(item.name) == "image" else self.cut.clips

    def _clips(self, place: int, item: Item, clips: int) -> list[Clip | BadMedia]:
        """As many as there are records: in place of clips that cannot be read, the reason."""
        found: list[Clip | BadMedia] = []
        try:
            for clip in self._read(place, item):
                found.append(self._sized(clip))
        except BadMedia as error:
            found += [error] * (clips - len(found))
        except STUMBLES as error:
            reason = BadMedia(f"{type(error).__name__}: {error}".splitlines()[0])
            found += [reason] * (clips - len(found))
        return found

    def _read(self, place: int, item: Item) -> Iterator[Clip]:
        content: Any = item.content
        if isinstance(content, BadMedia):
            raise content
        if kind_of(item.name) == "image":
            content = decode_picture(content)
        if isinstance(content, Picture):
            yield from each_window(content, [Window(0, self.cut.frames, 1)])
            return
        windows = self.given.get(place)
        if windows is None:
            windows = self.cut.windows(count_frames(content)[0])
        yield from each_window(content, windows)

    def _sized(self, clip: Clip) -> Clip:
        frames = [square(frame, self.cut.side, self.cut.crop) for frame in clip.frames]
        return Clip(np.stack(frames), clip.rate)


@dataclass(frozen=True, eq=False, repr=False)
class Joined(LabelTable):
    """The items of several collections, one collection after the other."""

    parts: tuple[Collection, ...]
    table: pa.Table
    name: str

    @classmethod
    def of(cls, parts: Sequence[Collection], name: str) -> Joined:
        """Collections of clips, or of images that count as such. A label that one lacks is null."""
        tables = [part.labels() for part in parts]
        whole = pa.concat_tables([t for t in tables if t is not None], promote_options="default")
        return cls(tuple(parts), whole, name)

    @property
    def kind(self) -> Literal["clip"]:
        """Clips; images among them count as clips of equal frames."""
        return "clip"

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        every = chain.from_iterable(part.items() for part in self.parts)
        for number, item in enumerate(every):
            if number >= start:
                yield Item(item.name, item.content, self.table.slice(number, 1).to_pylist()[0])

    def stamp(self) -> str:
        """What changes when an item of a part does."""
        return " ".join(part.stamp() for part in self.parts)

    def digest(self) -> str:
        """A hash of the contents."""
        return " ".join(part.digest() for part in self.parts)

    def opened(self) -> dict[str, Any]:
        """Nothing: the parts were opened one by one."""
        return {}
