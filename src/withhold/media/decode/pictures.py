"""Image files to RGB pixels (h, w, 3) and back, with Pillow.

The size is read from the header and checked before any pixel is decoded, so that a small file
that claims 30,000 x 30,000 pixels costs nothing. Colour profiles are not applied, transparency is
laid over white, and of an animation the first frame is taken.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from withhold.core.errors import UserError
from withhold.core.safe_read import open_regular
from withhold.media.optional import needed
from withhold.records.samples import BadMedia, ByteArray, FloatArray, Picture

Resampling = Literal["nearest", "bilinear", "bicubic", "box", "lanczos"]
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # the weights of red, green and blue
# Only these readers of Pillow are used: others start programs (EPS).
_READERS = ("Jpeg", "Png", "Bmp", "Gif", "WebP", "Tiff", "Ppm", "Avif")
_JPEG: dict[str, Any] = {"format": "JPEG", "quality": 95, "subsampling": 0}
_TIFF = {"format": "TIFF", "compression": "tiff_adobe_deflate"}
_PPM = {"format": "PPM"}
_FORMATS: dict[str, dict[str, Any]] = {
    **dict.fromkeys((".jpg", ".jpeg", ".jpe", ".jfif"), _JPEG),
    ".png": {"format": "PNG"},
    ".bmp": {"format": "BMP"},
    ".gif": {"format": "GIF"},
    ".webp": {"format": "WEBP", "lossless": True},
    **dict.fromkeys((".tif", ".tiff"), _TIFF),
    **dict.fromkeys((".ppm", ".pgm", ".pnm"), _PPM),
    ".avif": {"format": "AVIF", "quality": 95, "subsampling": "4:4:4"},
}


def decode_picture(
    content: Path | bytes | Picture, *, most_pixels: int = 50_000_000, least: int = 2
) -> Picture:
    """The picture in a file or in bytes, rotated as its EXIF says; BadMedia if there is none.

    A picture of more than `most_pixels`, or with a side shorter than `least`, is refused.
    """
    if isinstance(content, Picture):
        height, width = content.pixels.shape[:2]
        _check_size(width, height, most_pixels, least)
        return content
    _pillow()
    if isinstance(content, bytes):
        return _decode(io.BytesIO(content), len(content), most_pixels, least)
    try:
        # Reading a pipe or a device would block for ever.
        with open_regular(content) as file:
            return _decode(file, os.fstat(file.fileno()).st_size, most_pixels, least)
    except OSError as error:
        raise BadMedia(f"cannot be read: {error.strerror or error}") from error


def encode_picture(picture: Picture, suffix: str) -> bytes:
    """A file of the format that `suffix` names; it holds the pixels and no metadata.

    PNG, BMP, TIFF, WebP and PPM keep every pixel; JPEG and AVIF have quality 95 and full colour
    resolution; GIF has 256 colours and PGM is grey.
    """
    image = _pillow().fromarray(picture.pixels)
    suffix = suffix.lower()
    if suffix not in _FORMATS:
        raise UserError(f"pictures cannot be written as '{suffix}'; use {', '.join(_FORMATS)}")
    if suffix == ".pgm":
        image = image.convert("L")
    out = io.BytesIO()
    image.save(out, **_FORMATS[suffix])
    return out.getvalue()


def resized(
    pixels: ByteArray, height: int, width: int, *, how: Resampling = "bilinear"
) -> ByteArray:
    """Pixels (h, w, 3) or (h, w) at another size; reduced by averages, not by sampling."""
    if pixels.shape[:2] == (height, width):
        return pixels
    pillow = _pillow()
    image = pillow.fromarray(pixels).resize((width, height), pillow.Resampling[how.upper()])
    return np.asarray(image)


def sized_between(pixels: ByteArray, *, least: int, most: int) -> ByteArray:
    """Resize so that the shorter side is at least `least` and none is over `most`; same shape."""
    height, width = pixels.shape[:2]
    scale = min(max(1.0, least / min(height, width)), most / max(height, width))
    return resized(pixels, max(round(height * scale), 1), max(round(width * scale), 1))


def grey(pixels: ByteArray) -> FloatArray:
    """Luma (..., h, w) in 0 to 255 of pixels (..., h, w, 3)."""
    out: FloatArray = pixels.astype(np.float32) @ LUMA
    return out


def _decode(file: BinaryIO, size: int, most_pixels: int, least: int) -> Picture:
    if size == 0:
        raise BadMedia("the file is empty")
    with open_header(file) as image:
        width, height = image.size
        _check_size(width, height, most_pixels, least)
        # Damage can make a reader raise any exception; none of them may stop a run.
        try:
            image.load()
            _turn(image)
            return Picture(np.array(_rgb(image)))
        except BadMedia:
            raise
        except Exception as error:
            what = str(error) or type(error).__name__
            if "truncated" in what.lower():
                raise BadMedia("the picture is cut short") from error
            raise BadMedia(f"the picture is damaged: {what}") from error


def open_header(file: BinaryIO) -> Any:
    """The picture of a file as Pillow's, with only its header read."""
    _pillow()
    readers = _readers()
    _silence()
    opened = (_opened(reader, file) for reader in readers)
    image = next((found for found in opened if found is not None), None)
    if image is None:
        raise BadMedia("not a picture, or its header is damaged")
    return image


def _opened(reader: Any, file: BinaryIO) -> Any:
    """The file as this reader opens it, header read; None if it has another format."""
    file.seek(0)
    try:
        return reader(file, "")
    except Exception:
        return None


def _check_size(width: int, height: int, most_pixels: int, least: int) -> None:
    if min(width, height) < least:
        raise BadMedia(f"the picture is only {width} x {height} pixels")
    if width * height > most_pixels:
        raise BadMedia(
            f"the picture is too large: {width} x {height} pixels, more than {most_pixels:,}"
        )


def _rgb(image: Any) -> Any:
    """Any mode of Pillow to RGB."""
    pillow = _pillow()
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode == "F" or image.mode.startswith("I"):
        return pillow.fromarray(_eight_bits(np.asarray(image))).convert("RGB")
    if image.has_transparency_data:
        over = image.convert("RGBA")
        white = pillow.new("RGBA", over.size, "white")
        return pillow.alpha_composite(white, over).convert("RGB")
    return image.convert("RGB")


def _eight_bits(values: Any) -> ByteArray:
    """Grey of more than 8 bits: 0 to 65535 in integers, 0 to 1 in floats; Pillow only clips it."""
    top = 1.0 if values.dtype.kind == "f" else 65535.0
    # The range of other numbers (depths, heights) is unknown; a guess would be a feature.
    if not (values.min() >= 0 and values.max() <= top):
        raise BadMedia(f"its grey values are not between 0 and {top:g}")
    out: ByteArray = np.rint(values.astype(np.float64) * (255 / top)).astype(np.uint8)
    return out


def _turn(image: Any) -> None:
    """Rotate as EXIF says; after loading, when Pillow has already rotated a TIFF."""
    # Damaged EXIF may raise anything; the picture itself may be whole.
    with suppress(Exception):
        import_module("PIL.ImageOps").exif_transpose(image, in_place=True)


def _pillow() -> Any:
    return needed("PIL.Image", by="reading pictures", package="Pillow")


@cache
def _readers() -> tuple[Any, ...]:
    """Used directly: `Image.open` warns of large pictures, which are refused here."""
    return tuple(
        getattr(import_module(f"PIL.{name}ImagePlugin"), f"{name}ImageFile") for name in _READERS
    )


def _silence() -> None:
    """Silence Pillow's warnings of damaged headers: the file is refused, or its pixels are whole.

    The filter stays, since one for the time of a call is not safe if several threads decode. The
    warning of decompression bombs is of another category and still reaches other users of Pillow.
    """
    ours = ("ignore", None, UserWarning, re.compile(r"PIL\."), 0)
    if ours not in warnings.filters:
        warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
