"""One picture with a labelled row of images for each of several versions of them."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence

import numpy as np

from withhold.media.decode.pictures import resized
from withhold.records.samples import ByteArray

SIDE, MARGIN = 96, 4


def contact_sheet(rows: Mapping[str, Sequence[ByteArray | None]], side: int = SIDE) -> bytes:
    """A PNG. Each image (h, w, 3) fills a square of `side` pixels; None leaves its place empty."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(14)
    rows = {label.replace("ε", "eps"): images for label, images in rows.items()}  # not in the font
    text = 3 * MARGIN + max(math.ceil(font.getlength(label)) for label in rows)
    step = side + MARGIN
    columns = max(len(images) for images in rows.values())
    sheet = Image.new("RGB", (text + columns * step, len(rows) * step + MARGIN), "white")
    draw = ImageDraw.Draw(sheet)
    for row, (label, images) in enumerate(rows.items()):
        top = MARGIN + row * step
        draw.text((MARGIN, top + side // 2 - 8), label, fill="black", font=font)
        for column, image in enumerate(images):
            if image is not None:
                sheet.paste(Image.fromarray(fitted(image, side)), (text + column * step, top))
    data = io.BytesIO()
    sheet.save(data, "PNG")
    return data.getvalue()


def fitted(pixels: ByteArray, side: int) -> ByteArray:
    """The image in the top left corner of a white square, as large as it can be."""
    height, width = pixels.shape[:2]
    scale = side / max(height, width)
    sized = resized(pixels, max(round(height * scale), 1), max(round(width * scale), 1))
    square = np.full((side, side, 3), 255, np.uint8)
    square[: sized.shape[0], : sized.shape[1]] = sized
    return square
