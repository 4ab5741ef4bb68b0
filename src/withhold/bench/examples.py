"""One picture of what every anonymiser makes of the same few images."""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import numpy as np

from withhold.atomic import write_bytes
from withhold.data.media_sets import MediaFile
from withhold.media.collect import open_media
from withhold.media.cutting import decode
from withhold.media.decode.pictures import resized
from withhold.media.samples import ByteArray, Picture

SIDE, MARGIN, TEXT = 96, 4, 190
EVERY = 7  # of the set's first images, so that they are not all of one person


def draw_examples(
    file: MediaFile, releases: Mapping[str, MediaFile], target: Path, *, images: int = 8
) -> None:
    """A row of images for the original and for every release, each with its label."""
    from PIL import Image, ImageDraw, ImageFont

    lines = {"original": file, **releases}
    step = SIDE + MARGIN
    sheet = Image.new("RGB", (TEXT + images * step, len(lines) * step + MARGIN), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(14)
    for row, (label, one) in enumerate(lines.items()):
        top = MARGIN + row * step
        draw.text((MARGIN, top + SIDE // 2 - 8), label, fill="black", font=font)
        for column, pixels in enumerate(_first(one, images)):
            sheet.paste(Image.fromarray(pixels), (TEXT + column * step, top))
    data = io.BytesIO()
    sheet.save(data, "PNG")
    write_bytes(target, data.getvalue())


def _first(file: MediaFile, images: int) -> list[ByteArray]:
    found = []
    items = open_media(file.path, file.kind, column=file.column).items()
    for item in islice(items, 0, images * EVERY, EVERY):
        sample = decode(item.content, "image")
        assert isinstance(sample, Picture)
        height, width = sample.pixels.shape[:2]
        scale = SIDE / max(height, width)
        shrunk = resized(sample.pixels, round(height * scale), round(width * scale))
        square = np.full((SIDE, SIDE, 3), 255, np.uint8)
        square[: shrunk.shape[0], : shrunk.shape[1]] = shrunk
        found.append(square)
    return found
