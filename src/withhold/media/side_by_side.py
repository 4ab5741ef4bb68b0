"""Clips next to each other: the original and what anonymisers make of it, as one labelled clip."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.media.contact_sheet import MARGIN, SIDE, fitted
from withhold.media.decode.encoded_clips import encode_clip
from withhold.media.decode.pictures import encode_picture
from withhold.records.samples import ByteArray, Clip, Picture

_TEXT = 20  # height of the labels in pixels


def side_by_side(
    columns: Mapping[str, Clip | Sequence[Clip | None]], *, side: int = SIDE, rate: float = 0.0
) -> Clip:
    """One clip with a column for each version, under its label, and a row for each clip of it.

    Frames are enlarged or reduced to fit squares of `side` pixels. It is as long as the longest
    clip; shorter ones stop at their last frame. None leaves its place empty. Without a `rate` it
    has that of the first clip.
    """
    versions = {
        label: [clips] if isinstance(clips, Clip) else list(clips)
        for label, clips in columns.items()
    }
    shown = [clip for clips in versions.values() for clip in clips if clip is not None]
    if not any(len(clip.frames) for clip in shown):
        raise UserError("there is no clip to show side by side")
    rows = max(len(clips) for clips in versions.values())
    frames = max(len(clip.frames) for clip in shown)
    head = _header(list(versions), side)
    step = side + MARGIN
    height = head.shape[0] + rows * step
    whole = np.full((frames, height + height % 2, head.shape[1], 3), 255, np.uint8)
    whole[:, : head.shape[0]] = head
    width = head.shape[1] // len(versions)  # of a column
    for column, clips in enumerate(versions.values()):
        for row, clip in enumerate(clips):
            if clip is None or not len(clip.frames):
                continue
            top, left = head.shape[0] + row * step, column * width + MARGIN
            place = (slice(top, top + side), slice(left, left + side))
            for t in range(frames):
                last = len(clip.frames) - 1
                # The last frame stays; it need not be resized again.
                whole[(t, *place)] = (
                    fitted(clip.frames[t], side) if t <= last else whole[(last, *place)]
                )
    return Clip(whole, rate or shown[0].rate)


def write_side_by_side(clip: Clip, target: Path) -> None:
    """Write a clip as .gif or as video (such as .mp4); without a suffix, as a folder of frames."""
    suffix = target.suffix.lower()
    if not suffix:
        target.mkdir(parents=True, exist_ok=True)
        for number, pixels in enumerate(clip.frames):
            write_bytes(target / f"{number:04d}.png", encode_picture(Picture(pixels), ".png"))
    elif suffix == ".gif":
        write_bytes(target, _gif(clip))
    else:
        write_bytes(target, encode_clip(clip, suffix))


def _header(labels: Sequence[str], side: int) -> ByteArray:
    """The labels in a row (_TEXT, w, 3), each above its column; columns are equally wide."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(14)
    shown = [label.replace("ε", "eps") for label in labels]  # not in the font
    width = max(side, *(math.ceil(font.getlength(label)) for label in shown)) + 2 * MARGIN
    width += width % 2
    image = Image.new("RGB", (width * len(labels), _TEXT), "white")
    draw = ImageDraw.Draw(image)
    for column, label in enumerate(shown):
        draw.text((column * width + MARGIN, 2), label, fill="black", font=font)
    return np.asarray(image)


def _gif(clip: Clip) -> bytes:
    """An animated GIF that repeats for ever. Its frames last a whole number of 10 ms."""
    from PIL import Image

    pictures = [Image.fromarray(pixels) for pixels in clip.frames]
    data = io.BytesIO()
    pause = max(round(100 / clip.rate), 2) * 10  # players slow down what is faster
    pictures[0].save(
        data, "GIF", save_all=True, append_images=pictures[1:], duration=pause, loop=0, disposal=1
    )
    return data.getvalue()
