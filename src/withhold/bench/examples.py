"""One picture, or one clip, that shows the same few media after every anonymiser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from withhold.core.atomic import write_bytes
from withhold.datasets.media_sets import RECORD, MediaFile
from withhold.media.contact_sheet import contact_sheet
from withhold.media.cutting import decode
from withhold.media.side_by_side import side_by_side, write_side_by_side
from withhold.records.readers import open_media
from withhold.records.samples import BadMedia, Clip, Picture, Sample

EVERY = 7  # take every seventh image, so that they are not all of one person


def draw_examples(
    file: MediaFile, releases: Mapping[str, MediaFile], target: Path, *, images: int = 8
) -> None:
    """A row of images for the original and for every release, each with its label."""
    wanted = [number * EVERY for number in range(images)]
    rows = {}
    for label, one in {"original": file, **releases}.items():
        found = _samples(one, wanted)
        shown = (found.get(record) for record in wanted)  # a release may lack some
        rows[label] = [s.pixels if isinstance(s, Picture) else None for s in shown]
    write_bytes(target, contact_sheet(rows))


def draw_clip_examples(
    file: MediaFile, releases: Mapping[str, MediaFile], target: Path, *, clips: int = 4
) -> None:
    """A column of clips for the original and for every release, playing at the same time."""
    wanted = [number * EVERY for number in range(clips)]
    columns = {}
    for label, one in {"original": file, **releases}.items():
        found = _samples(one, wanted)
        shown = (found.get(record) for record in wanted)
        columns[label] = [s if isinstance(s, Clip) else None for s in shown]
    write_side_by_side(side_by_side(columns), target)


def _samples(file: MediaFile, wanted: Sequence[int]) -> dict[int, Sample]:
    """The media with these record numbers."""
    found = {}
    for item in open_media(file.path, file.kind, column=file.column).items():
        record = item.labels[RECORD]
        if record > wanted[-1]:
            break
        if record not in wanted or isinstance(item.content, BadMedia):
            continue
        found[record] = decode(item.content, file.kind)
    return found
