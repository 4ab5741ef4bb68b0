"""One picture that shows the same few images after every anonymiser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from withhold.core.atomic import write_bytes
from withhold.datasets.media_sets import RECORD, MediaFile
from withhold.media.contact_sheet import contact_sheet
from withhold.media.cutting import decode
from withhold.records.readers import open_media
from withhold.records.samples import BadMedia, ByteArray, Picture

EVERY = 7  # take every seventh image, so that they are not all of one person


def draw_examples(
    file: MediaFile, releases: Mapping[str, MediaFile], target: Path, *, images: int = 8
) -> None:
    """A row of images for the original and for every release, each with its label."""
    wanted = [number * EVERY for number in range(images)]
    rows = {}
    for label, one in {"original": file, **releases}.items():
        found = _pictures(one, wanted)
        rows[label] = [found.get(record) for record in wanted]  # a release may lack some
    write_bytes(target, contact_sheet(rows))


def _pictures(file: MediaFile, wanted: Sequence[int]) -> dict[int, ByteArray]:
    """The images with these record numbers."""
    found = {}
    for item in open_media(file.path, file.kind, column=file.column).items():
        record = item.labels[RECORD]
        if record > wanted[-1]:
            break
        if record not in wanted or isinstance(item.content, BadMedia):
            continue
        sample = decode(item.content, "image")
        assert isinstance(sample, Picture)
        found[record] = sample.pixels
    return found
