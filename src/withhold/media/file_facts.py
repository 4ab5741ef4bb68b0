"""What a medium reveals beside its content: its size or length, its format, its metadata.

Extractors bring media to one size and networks read them at one size, so no attacker on features
or pixels sees these. Whoever gets the release does: two cameras or two sources may have two sizes.
The audit attacks them as columns of the release.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.progress import Progress
from withhold.core.safe_read import open_regular
from withhold.media.decode.clips import MOST_PIXELS, opened_clip
from withhold.media.decode.pictures import open_header
from withhold.media.decode.sounds import sound_source
from withhold.media.optional import needed
from withhold.records.readers import Collection, Selection
from withhold.records.samples import BadMedia, Clip, Content, Kind, Picture, Sound

Facts = dict[str, Any]
_MOST_TEXT = 500  # letters of metadata that are read
# Facts of a file that say nothing else than its format does, or that the pixels show.
_PLAIN = {"jfif", "jfif_version", "jfif_unit", "jfif_density", "dpi", "compression", "transparency"}


def with_facts(columns: pa.Table, facts: pa.Table) -> pa.Table:
    """A table with the facts as further columns."""
    for name in facts.column_names:
        columns = columns.append_column(name, facts[name])
    return columns


def file_facts(media: Collection, places: npt.NDArray[np.int64], *, progress: Progress) -> pa.Table:
    """A column for each fact, a row for each of the items `places`, which may name items twice."""
    items, back = np.unique(places, return_inverse=True)
    chosen = Selection.of(media, items)
    found: list[Facts] = []
    with progress.stage(f"sizes and metadata of {media.name}", len(items)) as bar:
        for item in chosen.items():
            found.append(facts_of(item.content, media.kind))
            bar.advance()
    names = sorted({name for facts in found for name in facts})
    table = pa.table({f"({n})": [facts.get(n) for facts in found] for n in names})
    return table.take(pa.array(back)) if names else table


def facts_of(content: Content | BadMedia, kind: Kind) -> Facts:
    """The facts of one medium; none if it cannot be opened."""
    try:
        return {k: v for k, v in _facts(content, kind).items() if v not in (None, "")}
    except Exception:  # a damaged header may make a reader raise anything
        return {}


def _facts(content: Content | BadMedia, kind: Kind) -> Facts:
    if isinstance(content, Picture):
        return _size(content.pixels)
    if isinstance(content, Sound):
        return {"samples": len(content.samples), "rate": content.rate}
    if isinstance(content, Clip):
        whole = {"frames": len(content.frames), "rate": float(content.rate)}
        return _size(content.frames[0]) | whole
    if isinstance(content, BadMedia):
        return {}
    if isinstance(content, str):
        return {"letters": len(content)}
    with _stream(content) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        facts: Facts = {"bytes": size}
        if kind == "image":
            facts |= _of_picture(file)
    if kind == "sound":
        facts |= _of_sound(content)
    elif kind == "clip":
        facts |= _of_clip(content)
    return facts


def _of_picture(file: BinaryIO) -> Facts:
    with open_header(file) as image:
        width, height = image.size
        said = {k: v for k, v in image.info.items() if k not in _PLAIN}
        return {
            "width": width,
            "height": height,
            "format": image.format,
            "colours": image.mode,
            "metadata": _text(said),
        }


def _of_sound(content: Path | bytes) -> Facts:
    sf = needed("soundfile", by="sound")
    with sf.SoundFile(sound_source(content)[0]) as file:
        return {
            "samples": file.frames,
            "rate": file.samplerate,
            "channels": file.channels,
            "format": f"{file.format} {file.subtype}",
            "metadata": _text(file.copy_metadata()),
        }


def _of_clip(content: Path | bytes) -> Facts:
    with opened_clip(content, MOST_PIXELS) as (_, container, stream):
        context = stream.codec_context
        return {
            "frames": stream.frames,
            "microseconds": container.duration,
            "width": context.width,
            "height": context.height,
            "rate": float(stream.average_rate or 0),
            "streams": len(container.streams),
            "format": f"{container.format.name} {context.name}",
            "metadata": _text(container.metadata | stream.metadata),
        }


def _size(pixels: Any) -> Facts:
    height, width = pixels.shape[:2]
    return {"width": width, "height": height}


def _text(said: Mapping[Any, Any]) -> str:
    """Metadata as text, its beginning; bytes as the letters that they hold."""
    pairs = (f"{key}: {_word(said[key])}" for key in sorted(said, key=str))
    return "; ".join(pairs)[:_MOST_TEXT]


def _word(value: Any) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return "".join(letter for letter in text if letter.isprintable())[:_MOST_TEXT]


@contextmanager
def _stream(content: Path | bytes) -> Iterator[BinaryIO]:
    if isinstance(content, bytes):
        yield io.BytesIO(content)
        return
    with open_regular(content) as file:
        yield file
