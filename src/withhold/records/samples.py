"""What a medium is once decoded: one small frozen type a kind, all of them plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Kind = Literal["image", "sound", "clip", "text"]
KINDS: tuple[Kind, ...] = get_args(Kind)
RecordKind = Literal["features", "table", "image", "sound", "clip", "text"]
FloatArray = npt.NDArray[np.float32]
ByteArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Picture:
    """A still image: pixels (h, w, 3), RGB."""

    pixels: ByteArray


@dataclass(frozen=True, eq=False)
class Sound:
    """Mono sound: samples (t,) about [-1, 1], finite, and how many there are a second."""

    samples: FloatArray
    rate: int


@dataclass(frozen=True, eq=False)
class Clip:
    """Moving pictures without sound: frames (t, h, w, 3), RGB, and how many there are a second."""

    frames: ByteArray
    rate: float = 25.0


Sample = Picture | Sound | Clip | str
# What can be decoded: a file, the bytes of one, or a sample that needs no decoding.
Content = Path | bytes | Sample


class BadMedia(Exception):
    """One file that cannot be used, and why: it is skipped, counted and listed, not a mistake."""


_NAMES: dict[Kind, str] = {
    "image": "jpg jpeg jpe jfif png bmp gif webp tif tiff ppm pgm pnm avif",
    "sound": "wav flac ogg oga opus mp3 aif aiff aifc au snd w64 caf",
    "clip": "mp4 m4v avi mov mkv webm mpg mpeg wmv flv ogv 3gp ts",
    "text": "txt text md",
}
SUFFIXES = {kind: frozenset(f".{n}" for n in names.split()) for kind, names in _NAMES.items()}


def kind_of(name: str) -> Kind | None:
    """The kind of medium that a file's name says, or None.

    >>> kind_of("faces/Anna.JPG")
    'image'
    """
    suffix = Path(name).suffix.lower()
    return next((kind for kind, known in SUFFIXES.items() if suffix in known), None)
