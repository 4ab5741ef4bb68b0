"""Encode samples in the file format they came from. Only the sample itself is written.

Pictures have 8 bits per colour and no transparency, sound is mono, and clips are silent.
"""

from __future__ import annotations

import io
from pathlib import Path, PurePosixPath
from typing import Any

from withhold.core.errors import UserError
from withhold.media.decode.encoded_clips import encode_clip
from withhold.media.decode.pictures import encode_picture
from withhold.media.decode.sounds import encode_sound
from withhold.media.ogg import with_serial
from withhold.records.samples import SUFFIXES, BadMedia, Clip, Kind, Sample, Sound

# The default formats.
_PLAIN: dict[Kind, str] = {"image": ".png", "sound": ".wav", "clip": ".mp4", "text": ".txt"}
# As in decoding: other Pillow readers start external programs.
_READ = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM", "AVIF")
_PICTURES = {"JPEG": ".jpg", "MPO": ".jpg", "TIFF": ".tif", "PPM": ".ppm"}
_CLIPS = {"mov": ".mp4", "matroska": ".mkv", "avi": ".avi", "webm": ".webm"}
# Formats that are read but not written: palettes of 256 colours, other JPEG suffixes, old videos.
_REWRITTEN = {".gif": ".png", ".jpe": ".jpg", ".jfif": ".jpg"} | dict.fromkeys(
    (".mpg", ".mpeg", ".wmv", ".flv", ".ogv", ".3gp", ".ts"), ".mp4"
)


def encode(sample: Sample, like: Any, suffix: str) -> bytes:
    """The bytes of a file with that suffix, the same for the same sample.

    `like` is the file or the bytes it was decoded from. Raises BadMedia if the format cannot hold
    the sample, such as a sample rate that Opus does not support.
    """
    try:
        if isinstance(sample, str):
            return sample.encode()
        if isinstance(sample, Sound):
            return _sound(sample, like if isinstance(like, Path | bytes) else None, suffix)
        if isinstance(sample, Clip):
            return encode_clip(sample, suffix)
        return encode_picture(sample, suffix)
    except UserError as error:  # one unusual file is not a mistake of the user
        raise BadMedia(str(error)) from error


def suffix_for(kind: Kind, name: str, content: Any) -> str:
    """The suffix of a released file: that of its original, or one derived from its bytes."""
    suffix = ""
    if isinstance(content, Path):
        suffix = PurePosixPath(name).suffix.lower()
    elif isinstance(content, bytes):
        suffix = _sniffed(kind, content)
    suffix = _REWRITTEN.get(suffix, suffix)
    return suffix if suffix in SUFFIXES[kind] else _PLAIN[kind]


def _sound(sound: Sound, like: Path | bytes | None, suffix: str) -> bytes:
    data = encode_sound(sound, like, suffix)
    return with_serial(data) if data.startswith(b"OggS") else data


def _sniffed(kind: Kind, content: bytes) -> str:
    try:
        if kind == "image":
            from PIL import Image

            with Image.open(io.BytesIO(content), formats=_READ) as image:
                form = str(image.format)
            return _PICTURES.get(form, f".{form.lower()}")
        if kind == "sound":
            import soundfile

            return f".{soundfile.info(io.BytesIO(content)).format.lower()}"
        if kind == "clip":
            import av

            from withhold.media.decode.clips import DEMUXERS

            # As in decoding: other demuxers would open the files that a playlist names.
            with av.open(
                io.BytesIO(content),
                options={"format_whitelist": DEMUXERS},
                metadata_errors="replace",
            ) as container:
                return _CLIPS.get(container.format.name.split(",")[0], ".mp4")
    except (OSError, ValueError, RuntimeError) as error:
        raise BadMedia(f"its format is not recognised: {error}") from error
    return ""
