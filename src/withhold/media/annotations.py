"""Labels of videos that change over time, as PA-HMDB gives them.

    {"wave_1.avi": {"face": [[0, 128, 1], [129, 141, 2]], "action": "wave"}, …}

An attribute has intervals [start, end, value] of frame numbers from 0, **both ends inclusive**, or
one plain value for the whole video. A value that is a list (two people of two genders) becomes one
label, "1+2". Frames between intervals have no label.

PA-HMDB can be read as published: a folder with one file per action, whose name becomes the label
`action`; its bookkeeping ("review", "note") is ignored; and if an interval begins on the frame on
which the previous one ends, that frame belongs to the later one.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.safe_read import read_json
from withhold.media.windows import Window, fitting_step, span

Value = int | str
_BOOKKEEPING = frozenset({"review", "note"})
_MOST_BYTES = 64 * 2**20  # of a file of annotations
_WHOLE = 1 << 62  # the end of a plain value; no video is that long


@dataclass(frozen=True)
class Interval:
    """Frames `start` to `end`, both inclusive, and the label they have."""

    start: int
    end: int
    value: Value


Labels = dict[str, tuple[Interval, ...]]  # by attribute
Videos = dict[str, Labels]


@dataclass(frozen=True, eq=False)
class Annotations:
    """Labels by video, attribute and frame; `source` is where they came from, for messages."""

    videos: Videos
    source: str = "the annotations"

    @classmethod
    def read(cls, path: str | Path) -> Annotations:
        """From a JSON file, or a folder of them, each named after its action."""
        path = Path(path)
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise UserError(f"{path} holds no .json file of annotations")
        videos: Videos = {}
        for file in files:
            for video, labels in _load(file).items():
                if video in videos:
                    raise UserError(f"{file}: video '{video}' is in another file of {path} too")
                videos[video] = _labels(labels, f"{file}: video '{video}'")
                if path.is_dir():
                    videos[video].setdefault("action", (Interval(0, _WHOLE, file.stem),))
        return cls(_of_one_type(videos), str(path))

    @cached_property
    def attributes(self) -> list[str]:
        """The attributes of all videos, in order of name."""
        return sorted({attribute for labels in self.videos.values() for attribute in labels})

    def type_of(self, attribute: str) -> pa.DataType:
        """Whole numbers if all its values are, otherwise strings."""
        self._check(attribute)
        return pa.string() if attribute in self._texts else pa.int64()

    def value(self, video: str, attribute: str, frame: int) -> Value | None:
        """The label of a frame, or None."""
        self._check(attribute)
        found = self._video(video).get(attribute, ())
        # The last interval that starts at the frame or before it, because of shared ends.
        last = bisect_right(found, frame, key=lambda interval: interval.start) - 1
        return found[last].value if last >= 0 and frame <= found[last].end else None

    def labels_at(self, video: str, frame: int) -> dict[str, Value]:
        """Every attribute with a label at a frame."""
        found = ((a, self.value(video, a, frame)) for a in self._video(video))
        return {attribute: value for attribute, value in found if value is not None}

    def video_labels(self, video: str, count: int) -> dict[str, Value]:
        """Per attribute the value of most frames of a video of `count`; in a tie, the first."""
        found: dict[str, Value] = {}
        for attribute in self._video(video):
            values = (self.value(video, attribute, frame) for frame in range(count))
            seen = Counter(value for value in values if value is not None)
            if seen:
                found[attribute] = seen.most_common(1)[0][0]
        return found

    def windows(self, video: str, count: int, frames: int = 16, step: int = 2) -> list[Window]:
        """Windows of a video of `count` frames whose labels are those of their centre.

        The video is cut wherever a label changes. A stretch gets one window per `frames * step`
        frames, at least one, each with its centre inside. A stretch too near an end of the video
        has none, and neither has a video without annotations.
        """
        if video not in self:
            return []
        step = fitting_step(count, frames, step)
        length = span(frames, step)
        before = (length - 1) // 2  # frames before the centre
        found: list[Window] = []
        for start, end in self._stretches(video, count):
            # Starts that keep the window in the video and its centre in the stretch.
            low, high = max(start - before, 0), min(end - before, count - length)
            if low > high:
                continue
            # As many as fit side by side, spread evenly about the middle of the stretch.
            n = max((end - start + 1) // (frames * step), 1)
            for i in range(n):
                middle = start + (2 * i + 1) * (end - start + 1) // (2 * n)
                found.append(Window(min(max(middle - before, low), high), frames, step))
        return list(dict.fromkeys(found))

    def digest(self) -> str:
        """A hash of the labels."""
        plain = {
            video: {a: [(i.start, i.end, i.value) for i in found] for a, found in labels.items()}
            for video, labels in self.videos.items()
        }
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    def __contains__(self, video: str) -> bool:
        return self._name(video) is not None

    def _name(self, video: str) -> str | None:
        """The name of a video here: as given, without its folders, or without its suffix."""
        path = PurePosixPath(video)
        names = (video, path.name, str(path.with_suffix("")) if path.name else video, path.stem)
        return next((n for n in names if n in self.videos), None)

    def _video(self, video: str) -> Labels:
        name = self._name(video)
        if name is None:
            hint = did_you_mean(Path(video).name, self.videos)
            raise UserError(f"video '{video}' is not in {self.source}{hint}")
        return self.videos[name]

    def _check(self, attribute: str) -> None:
        if attribute not in self.attributes:
            hint = did_you_mean(attribute, self.attributes)
            known = hint or f" (attributes: {listing(self.attributes)})"
            raise UserError(f"attribute '{attribute}' is not in {self.source}{known}")

    def _stretches(self, video: str, count: int) -> list[tuple[int, int]]:
        """First and last frames of the longest runs of equal labels, without unlabelled runs."""
        labels = self._video(video)
        timed = [i for found in labels.values() for i in found if i.end != _WHOLE]
        if not timed:
            return [(0, count - 1)] if labels else []
        cuts = {0, count} | {i.start for i in timed} | {i.end + 1 for i in timed}
        edges = sorted(cut for cut in cuts if cut <= count)
        runs: list[tuple[int, int]] = []
        before: dict[str, Value] = {}
        for start, stop in pairwise(edges):
            here = self.labels_at(video, start)
            if runs and runs[-1][1] == start - 1 and here == before:
                runs[-1] = (runs[-1][0], stop - 1)
            elif any(i.start <= start <= i.end for i in timed):
                runs.append((start, stop - 1))
            before = here
        return runs

    @cached_property
    def _texts(self) -> set[str]:
        """Attributes with a value that is not a whole number."""
        items = (item for labels in self.videos.values() for item in labels.items())
        return {a for a, found in items if any(not isinstance(i.value, int) for i in found)}


def _load(file: Path) -> dict[str, Any]:
    try:
        found = read_json(file, _MOST_BYTES)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror or error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{file} must map the names of videos to their labels")
    return found


def _labels(labels: Any, where: str) -> Labels:
    if not isinstance(labels, dict):
        raise UserError(f"{where}: its labels must map attributes to intervals or values")
    return {
        attribute: _intervals(given, f"{where}, attribute '{attribute}'")
        for attribute, given in labels.items()
        if attribute not in _BOOKKEEPING and given is not None
    }


def _intervals(given: Any, where: str) -> tuple[Interval, ...]:
    if not isinstance(given, list):
        return (Interval(0, _WHOLE, _value(given, where)),)
    found: list[Interval] = []
    for one in given:
        here = f"{where}, interval {json.dumps(one)}"
        if not (isinstance(one, list) and len(one) == 3 and all(type(n) is int for n in one[:2])):
            raise UserError(f"{here}: write [start, end, value] with frame numbers")
        start, end = one[:2]
        if start < 0 or end >= _WHOLE:
            raise UserError(f"{here}: the first frame of a video is 0")
        if start > end:
            raise UserError(f"{here}: it starts after its end")
        found.append(Interval(start, end, _value(one[2], here)))
    found.sort(key=lambda interval: (interval.start, interval.end))
    for first, second in pairwise(found):
        if second.start < first.end or second.start == first.start:
            raise UserError(
                f"{where}: [{first.start}, {first.end}] and [{second.start}, {second.end}] overlap"
            )
    return tuple(found)


def _value(value: Any, where: str) -> Value:
    if isinstance(value, list) and value:
        return "+".join(sorted(str(_value(one, where)) for one in value))
    if isinstance(value, bool | float):
        return json.dumps(value)
    if not isinstance(value, int | str):
        raise UserError(f"{where}: {json.dumps(value)} is not a label")
    return value


def _of_one_type(videos: Videos) -> Videos:
    """All values of an attribute as strings, if one of them is no whole number."""
    texts = Annotations(videos)._texts
    for labels in videos.values():
        for attribute in texts & labels.keys():
            labels[attribute] = tuple(replace(i, value=str(i.value)) for i in labels[attribute])
    return videos
