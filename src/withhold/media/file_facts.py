"""What a medium reveals beside its content: its size or length, its format, its metadata.

Extractors bring media to one size and networks read them at one size, so no attacker on features
or pixels sees these. Whoever gets the release does: two cameras or two sources may have two sizes.
The audit attacks them as columns of the release.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.core.safe_read import open_regular
from withhold.media.beside_content import MOST, beside_content
from withhold.media.decode.clips import MOST_PIXELS, opened_clip
from withhold.media.decode.pictures import open_header
from withhold.media.decode.sounds import sound_source
from withhold.media.optional import needed
from withhold.records.readers import Collection, Selection
from withhold.records.samples import BadMedia, Clip, Content, Kind, Picture, Sound

Facts = dict[str, Any]
HIDDEN = "hidden"  # what a picture holds and no attacker sees


def with_facts(columns: pa.Table, facts: pa.Table) -> pa.Table:
    """A table with the facts as further columns."""
    for name in facts.column_names:
        columns = columns.append_column(name, facts[name])
    return columns


def facts_of_release(
    media: Collection, places: npt.NDArray[np.int64], *, progress: Progress
) -> pa.Table:
    """As `file_facts`. Refuse pictures that hold more than what is seen: no attacker reads it."""
    facts = file_facts(media, places, progress=progress)
    if f"({HIDDEN})" not in facts.column_names:
        return facts
    hidden = facts[f"({HIDDEN})"].drop_null().to_pylist()
    raise UserError(
        f"{len(hidden):,} of {len(facts):,} images of {media.name} hold more than what is seen in"
        f" them ({listing(sorted(set(hidden)))}), and no attacker reads that; release pictures of"
        " one frame, 8 bits a colour and no transparency"
    )


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
    """The facts of one medium; none of a sound or clip that cannot be opened."""
    try:
        return {k: v for k, v in _facts(content, kind).items() if v not in (None, "")}
    except Exception:  # a damaged header may make a reader raise anything
        return {HIDDEN: "a header that cannot be read"} if kind == "image" else {}


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
        said: Mapping[Any, Any] = {}
        if kind == "image":
            found, said = _of_picture(file)
            facts |= found
            file.seek(0)
        data = file.read(MOST)
    if kind == "sound":
        found, said = _of_sound(content)
        facts |= found
    elif kind == "clip":
        found, said = _of_clip(content)
        facts |= found
    return facts | {"metadata": beside_content(data, said)}


def _of_picture(file: BinaryIO) -> tuple[Facts, Mapping[Any, Any]]:
    with open_header(file) as image:
        width, height = image.size
        frames = getattr(image, "n_frames", 1)
        said = dict(image.info)
        with suppress(Exception):  # damaged EXIF; its bytes are listed with the file's parts
            said |= {f"tag {k}": v for k, v in image.getexif().items()}
        return {
            "width": width,
            "height": height,
            "format": image.format,
            "colours": image.mode,
            HIDDEN: _hidden(image, frames),
        }, said


def _hidden(image: Any, frames: int) -> str:
    """What a picture holds that nobody sees in it."""
    if frames > 1:
        return "several frames"
    if image.mode == "F" or image.mode.startswith("I"):
        return "more than 8 bits"
    if image.has_transparency_data:
        image.load()
        if image.convert("RGBA").getextrema()[3][0] < 255:
            return "colours under transparency"
    return ""


def _of_sound(content: Path | bytes) -> tuple[Facts, Mapping[Any, Any]]:
    sf = needed("soundfile", by="sound")
    with sf.SoundFile(sound_source(content)[0]) as file:
        return {
            "samples": file.frames,
            "rate": file.samplerate,
            "channels": file.channels,
            "format": f"{file.format} {file.subtype}",
        }, file.copy_metadata()


def _of_clip(content: Path | bytes) -> tuple[Facts, Mapping[Any, Any]]:
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
        }, container.metadata | stream.metadata


def _size(pixels: Any) -> Facts:
    height, width = pixels.shape[:2]
    return {"width": width, "height": height}


@contextmanager
def _stream(content: Path | bytes) -> Iterator[BinaryIO]:
    if isinstance(content, bytes):
        yield io.BytesIO(content)
        return
    with open_regular(content) as file:
        yield file
