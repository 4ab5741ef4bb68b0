"""Items to records: a picture, a sound or a text is one record; a video gives one per window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from withhold.core.errors import UserError
from withhold.media.decode.clips import count_frames, decode_clip, each_window
from withhold.media.decode.pictures import decode_picture
from withhold.media.decode.sounds import decode_sound
from withhold.media.decode.texts import decode_text
from withhold.media.windows import Window, centre_window, equidistant_windows
from withhold.records.readers.collection import Item
from withhold.records.samples import BadMedia, Clip, Kind, Picture, Sample, kind_of

if TYPE_CHECKING:
    from withhold.media.annotations import Annotations

FRAME = "frame"  # the column of a window's middle frame


@dataclass(frozen=True, eq=False)
class Cutting:
    """How media of a kind are cut into records.

    A video gives one window of `frames` frames, every `step`th, from its middle; or `clips` windows
    at equal distances; or, with annotations, windows of every stretch whose labels are known. With
    both, the windows at equal distances carry the labels of the whole video.
    """

    kind: Kind
    frames: int = 16
    step: int = 2
    clips: int | None = None
    annotations: Annotations | None = None

    def __post_init__(self) -> None:
        if self.kind != "clip" and (self.clips or self.annotations):
            raise UserError(
                f"windows and annotations need clips; this extractor takes {self.kind}s"
            )

    @property
    def several(self) -> bool:
        """Whether an item may give several records."""
        return bool(self.clips or self.annotations)

    @property
    def fields(self) -> list[pa.Field]:
        """Columns that cutting adds to the labels."""
        if not self.several:
            return []
        found = [pa.field(FRAME, pa.int64())]
        if self.annotations:
            found += [pa.field(a, self.annotations.type_of(a)) for a in self.annotations.attributes]
        return found

    def cut(self, item: Item, place: int) -> Iterator[tuple[Sample, dict[str, Any]]]:
        """Decoded samples of item number `place`, one by one, with labels; raises BadMedia."""
        if isinstance(item.content, BadMedia):
            raise item.content
        if isinstance(item.content, Path) and item.content.exists() and not item.content.is_file():
            raise BadMedia("not a file")  # reading a pipe would block for ever
        if self.kind != "clip":
            yield decode(item.content, self.kind), {}
        else:
            yield from self._clips(item, place)

    def windows(self, item: Item, count: int, place: int) -> Sequence[Window]:
        """The windows of a video of `count` frames, in order."""
        if self.annotations is not None and not self.clips:
            found = self.annotations.windows(item.name, count, self.frames, self.step)
            if not found:
                raise BadMedia("no stretch of it is annotated")
            return found
        if self.clips:
            return equidistant_windows(count, self.clips, self.frames, self.step)
        return [centre_window(count, self.frames, self.step)]

    def _clips(self, item: Item, place: int) -> Iterator[tuple[Sample, dict[str, Any]]]:
        content, count = self._counted(item)
        windows = sorted(self.windows(item, count, place), key=lambda w: (w.last, w.first))
        whole: dict[str, Any] = {}
        if self.annotations is not None and self.clips:
            if item.name not in self.annotations:
                raise BadMedia("it is not annotated")
            whole = dict(self.annotations.video_labels(item.name, count))
        for clip, window in zip(each_window(content, windows), windows, strict=True):
            yield clip, self._labels(item.name, window) | whole

    def _counted(self, item: Item) -> tuple[Any, int]:
        content: Any = item.content
        if kind_of(item.name) == "image":
            content = decode_picture(content)
        if isinstance(content, Picture):
            return content, self.frames * self.step  # as many equal frames as are needed
        if isinstance(content, Clip):
            return content, len(content.frames)
        return content, count_frames(content)[0]

    def _labels(self, name: str, window: Window) -> dict[str, Any]:
        found: dict[str, Any] = {FRAME: window.centre} if self.several else {}
        if self.annotations is not None and not self.clips:
            found |= self.annotations.labels_at(name, window.centre)
        return found

    def state(self) -> dict[str, Any]:
        """The settings that decide the records, as JSON."""
        return {
            "frames": self.frames,
            "step": self.step,
            "clips": self.clips,
            "annotations": None if self.annotations is None else self.annotations.digest(),
        }


def decode(content: Any, kind: Kind) -> Sample:
    """A whole sample from a file, its bytes, or a sample that is decoded already."""
    return _DECODERS[kind](content)


_DECODERS: dict[Kind, Callable[[Any], Sample]] = {
    "image": decode_picture,
    "sound": decode_sound,
    "clip": decode_clip,
    "text": decode_text,
}
