"""One picture that shows the same few images after every anonymiser."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from withhold.core.atomic import write_bytes
from withhold.datasets.media_sets import RECORD, MediaFile
from withhold.media.cutting import decode
from withhold.media.decode.pictures import resized
from withhold.records.readers import open_media
from withhold.records.samples import BadMedia, ByteArray, Picture

SIDE, MARGIN = 96, 4
EVERY = 7  # take every seventh image, so that they are not all of one person


def draw_examples(
    file: MediaFile, releases: Mapping[str, MediaFile], target: Path, *, images: int = 8
) -> None:
    """A row of images for the original and for every release, each with its label."""
    from PIL import Image, ImageDraw, ImageFont

    lines = {"original": file, **releases}
    font = ImageFont.load_default(14)
    text = 3 * MARGIN + max(math.ceil(font.getlength(label)) for label in lines)
    step = SIDE + MARGIN
    sheet = Image.new("RGB", (text + images * step, len(lines) * step + MARGIN), "white")
    draw = ImageDraw.Draw(sheet)
    wanted = [number * EVERY for number in range(images)]
    for row, (label, one) in enumerate(lines.items()):
        top = MARGIN + row * step
        draw.text((MARGIN, top + SIDE // 2 - 8), label, fill="black", font=font)
        found = _pictures(one, wanted)
        for column, record in enumerate(wanted):
            if record in found:  # a release may lack some
                sheet.paste(Image.fromarray(found[record]), (text + column * step, top))
    data = io.BytesIO()
    sheet.save(data, "PNG")
    write_bytes(target, data.getvalue())


def _pictures(file: MediaFile, wanted: Sequence[int]) -> dict[int, ByteArray]:
    """The images with these record numbers, as squares."""
    found = {}
    for item in open_media(file.path, file.kind, column=file.column).items():
        record = item.labels[RECORD]
        if record > wanted[-1]:
            break
        if record not in wanted or isinstance(item.content, BadMedia):
            continue
        sample = decode(item.content, "image")
        assert isinstance(sample, Picture)
        height, width = sample.pixels.shape[:2]
        scale = SIDE / max(height, width)
        shrunk = resized(sample.pixels, round(height * scale), round(width * scale))
        square = np.full((SIDE, SIDE, 3), 255, np.uint8)
        square[: shrunk.shape[0], : shrunk.shape[1]] = shrunk
        found[record] = square
    return found
