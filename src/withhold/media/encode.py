"""Samples back to what they came from: the same kind of file, nothing in it but the sample."""

from __future__ import annotations

import io
from pathlib import Path, PurePosixPath
from typing import Any

from withhold.media.decode.encoded_clips import encode_clip
from withhold.media.decode.pictures import encode_picture
from withhold.media.decode.sounds import encode_sound
from withhold.media.samples import BadMedia, Clip, Picture, Sample, Sound

_PICTURES = {"JPEG": ".jpg", "MPO": ".jpg", "TIFF": ".tif", "PPM": ".ppm"}
_CLIPS = {"mov": ".mp4", "matroska": ".mkv", "avi": ".avi", "webm": ".webm"}
# What Pillow reads and nobody should write again (a palette of 256, one frame of many).
_REWRITTEN = {".gif": ".png", ".jpe": ".jpg", ".jfif": ".jpg"}


def encode(sample: Sample, like: Any, suffix: str) -> bytes:
    """The bytes of a file with that suffix; `like` is the file or the bytes it was decoded from."""
    if isinstance(sample, str):
        return sample.encode()
    if isinstance(sample, Sound):
        return encode_sound(sample, like if isinstance(like, Path | bytes) else None, suffix)
    if isinstance(sample, Clip):
        return encode_clip(sample, suffix)
    return encode_picture(sample, suffix)


def suffix_for(sample: Sample, name: str, content: Any) -> str:
    """The suffix that a released file gets: that of its original, or what its bytes say."""
    suffix = PurePosixPath(name).suffix.lower() if isinstance(content, Path) else ""
    suffix = suffix or (_sniffed(sample, content) if isinstance(content, bytes) else "")
    if not suffix:
        suffix = {Picture: ".png", Sound: ".wav", Clip: ".mp4"}.get(type(sample), ".txt")
    return _REWRITTEN.get(suffix, suffix)


def _sniffed(sample: Sample, content: bytes) -> str:
    try:
        if isinstance(sample, Picture):
            from PIL import Image

            with Image.open(io.BytesIO(content)) as image:
                form = str(image.format)
            return _PICTURES.get(form, f".{form.lower()}")
        if isinstance(sample, Sound):
            import soundfile

            return f".{soundfile.info(io.BytesIO(content)).format.lower()}"
        if isinstance(sample, Clip):
            import av

            with av.open(io.BytesIO(content)) as container:
                return _CLIPS.get(container.format.name.split(",")[0], ".mp4")
    except (OSError, ValueError, RuntimeError) as error:
        raise BadMedia(f"its format cannot be told: {error}") from error
    return ""
