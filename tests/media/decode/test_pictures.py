"""Pictures in and out: every mode, every kind of damage."""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from withhold.core.errors import UserError
from withhold.media.decode.pictures import (
    decode_picture,
    encode_picture,
    grey,
    resized,
    sized_between,
)
from withhold.records.samples import SUFFIXES, BadMedia, ByteArray, Picture

IMAGES = sorted(SUFFIXES["image"])
LOSSLESS = [".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pnm"]


def smooth(height: int = 20, width: int = 30) -> ByteArray:
    y, x = np.mgrid[:height, :width]
    parts = [x * 200 / width + 20, y * 200 / height + 20, (x + y) * 200 / (height + width)]
    return np.stack(parts, axis=2).astype(np.uint8)


def file_of(image: Image.Image, form: str, **how: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **how)
    return out.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_header(width: int, height: int) -> bytes:
    """A file that says it is this large, and has a few pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


# --- there and back ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", LOSSLESS)
def test_every_pixel_is_kept(suffix: str) -> None:
    again = decode_picture(encode_picture(Picture(smooth()), suffix)).pixels
    np.testing.assert_array_equal(again, smooth())
    assert again.dtype == np.uint8


@pytest.mark.parametrize("suffix", sorted(set(IMAGES) - set(LOSSLESS) - {".pgm"}))
def test_other_formats_come_close(suffix: str) -> None:
    again = decode_picture(encode_picture(Picture(smooth()), suffix.upper())).pixels
    assert np.abs(again.astype(int) - smooth()).mean() < 4


def test_pgm_is_grey() -> None:
    again = decode_picture(encode_picture(Picture(smooth()), ".pgm")).pixels
    np.testing.assert_array_equal(again[..., 0], again[..., 2])
    np.testing.assert_allclose(again[..., 0], grey(smooth()), atol=1)


def test_jpeg_keeps_colours_at_full_resolution() -> None:
    image = Image.open(io.BytesIO(encode_picture(Picture(smooth()), ".jpg")))
    assert [component[1:3] for component in image.layer] == [(1, 1)] * 3  # type: ignore[attr-defined]


def test_no_metadata_survives() -> None:
    exif = Image.Exif()
    exif[0x010F] = "a camera"
    data = file_of(Image.fromarray(smooth()), "JPEG", exif=exif, comment=b"a remark")
    for suffix in (".jpg", ".png", ".webp", ".tif"):
        again = Image.open(io.BytesIO(encode_picture(decode_picture(data), suffix)))
        assert b"camera" not in encode_picture(decode_picture(data), suffix)
        assert "exif" not in again.info
        assert "comment" not in again.info


def test_a_format_that_cannot_be_written_is_a_mistake() -> None:
    with pytest.raises(UserError, match=r"'\.xyz'"):
        encode_picture(Picture(smooth()), ".xyz")


# --- modes ------------------------------------------------------------------------------------


def test_sixteen_bit_grey_is_scaled_and_not_clipped() -> None:
    values = np.linspace(0, 65535, 256, dtype=np.uint16).reshape(16, 16)
    for form in ("PNG", "TIFF", "PPM"):
        found = decode_picture(file_of(Image.fromarray(values), form)).pixels
        np.testing.assert_array_equal(found[..., 1].reshape(-1), np.arange(256))


def test_floats_in_0_to_1_are_scaled_and_others_refused() -> None:
    values = np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16)
    found = decode_picture(file_of(Image.fromarray(values), "TIFF")).pixels
    np.testing.assert_array_equal(found[..., 0].reshape(-1), np.arange(256))
    with pytest.raises(BadMedia, match="grey values"):
        decode_picture(file_of(Image.fromarray(values * 9000), "TIFF"))


def test_what_is_transparent_is_white() -> None:
    pixels = np.zeros((4, 4, 4), np.uint8)
    pixels[:, 2:] = (10, 20, 30, 255)
    found = decode_picture(file_of(Image.fromarray(pixels), "PNG")).pixels
    assert (found[:, :2] == 255).all()
    assert (found[:, 2:] == (10, 20, 30)).all()
    half = Image.new("LA", (4, 4), (0, 128))
    assert (decode_picture(file_of(half, "PNG")).pixels == 127).all()


def test_palettes_with_and_without_transparency() -> None:
    image = Image.new("P", (4, 4), 1)
    image.putpalette([255, 0, 0, 0, 200, 0])
    image.putpixel((0, 0), 0)
    assert (decode_picture(file_of(image, "PNG")).pixels[0, 0] == (255, 0, 0)).all()
    found = decode_picture(file_of(image, "PNG", transparency=0)).pixels
    assert (found[0, 0] == 255).all()
    assert (found[1, 1] == (0, 200, 0)).all()


def test_cmyk_black_and_white_and_grey() -> None:
    cyan = decode_picture(file_of(Image.new("CMYK", (8, 8), (255, 0, 0, 0)), "TIFF")).pixels
    assert (cyan == (0, 255, 255)).all()
    assert (decode_picture(file_of(Image.new("1", (8, 8), 1), "PNG")).pixels == 255).all()
    assert (decode_picture(file_of(Image.new("L", (8, 8), 77), "PNG")).pixels == 77).all()


def test_the_first_frame_of_a_moving_picture() -> None:
    frames = [Image.new("RGB", (6, 6), colour) for colour in ("#ff0000", "#00ff00", "#0000ff")]
    for form in ("GIF", "WEBP", "PNG"):
        data = file_of(frames[0], form, save_all=True, append_images=frames[1:])
        found = decode_picture(data).pixels.reshape(-1, 3).mean(axis=0)
        np.testing.assert_allclose(found, (255, 0, 0), atol=3)


@pytest.mark.parametrize("form", ["PNG", "TIFF", "WEBP", "JPEG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_it_is_turned_as_exif_says(form: str, orientation: int) -> None:
    upright = smooth(16, 24)
    # What a camera stores, by the EXIF standard: where row 0 and column 0 of the scene are.
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: upright.transpose(1, 0, 2)[::-1],
        7: upright.transpose(1, 0, 2)[::-1, ::-1],
        8: upright.transpose(1, 0, 2)[:, ::-1],
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    how = {"WEBP": {"lossless": True}, "JPEG": {"quality": 100, "subsampling": 0}}.get(form, {})
    data = file_of(Image.fromarray(np.ascontiguousarray(stored)), form, exif=exif, **how)
    found = decode_picture(data).pixels
    assert found.shape == upright.shape
    np.testing.assert_allclose(found.astype(int), upright, atol=4)


def test_damaged_exif_does_not_cost_the_picture() -> None:
    data = file_of(
        Image.fromarray(smooth()), "PNG", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff\x01"
    )
    np.testing.assert_array_equal(decode_picture(data).pixels, smooth())


# --- what cannot be used ----------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(30_000, 30_000), (12_000, 12_000), (2, 25_000_001)])
def test_a_bomb_is_refused_before_it_is_unpacked(width: int, height: int) -> None:
    with pytest.raises(BadMedia, match=f"too large: {width} x {height}"):
        decode_picture(png_header(width, height))


def test_the_bound_is_the_callers() -> None:
    data = encode_picture(Picture(smooth(20, 30)), ".png")
    assert decode_picture(data, most_pixels=600).pixels.shape == (20, 30, 3)
    with pytest.raises(BadMedia, match="too large"):
        decode_picture(data, most_pixels=599)
    with pytest.raises(BadMedia, match="too large"):
        decode_picture(Picture(smooth(20, 30)), most_pixels=599)
    with pytest.raises(BadMedia, match="only 30 x 20"):
        decode_picture(data, least=21)


@pytest.mark.parametrize("size", [(1, 1), (1, 50), (50, 1)])
def test_too_small(size: tuple[int, int]) -> None:
    with pytest.raises(BadMedia, match="only"):
        decode_picture(file_of(Image.new("RGB", size), "PNG"))


@pytest.mark.parametrize("suffix", IMAGES)
def test_cut_short_anywhere(suffix: str) -> None:
    data = encode_picture(Picture(smooth()), suffix)
    for part in (0, 1, 4, 20, len(data) // 3, len(data) * 2 // 3):
        with pytest.raises(BadMedia, match=r"empty|not a picture|cut short|damaged"):
            decode_picture(data[:part])


@given(st.binary(max_size=300), st.sampled_from(IMAGES), st.integers(0, 2**32 - 1))
def test_any_bytes_are_a_picture_or_bad_media(junk: bytes, suffix: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(encode_picture(Picture(smooth(8, 8)), suffix))
    for i in rng.integers(0, len(data), 6):
        data[i] = rng.integers(256)
    for content in (junk, bytes(data)):
        with suppress(BadMedia):
            assert decode_picture(content, most_pixels=10**6).pixels.ndim == 3


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "loop.png").symlink_to("loop.png")
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "text.jpg").write_text("this is no picture at all")
    (tmp_path / "empty.jpg").touch()
    reasons = {
        "loop.png": "cannot be read: .*symbolic links",
        "folder.png": "not a file",
        "pipe.png": "not a file",
        "text.jpg": "not a picture",
        "empty.jpg": "empty",
        "absent.jpg": "cannot be read: No such file",
        "\0.png": "cannot be read",
    }
    for name, reason in reasons.items():
        with pytest.raises(BadMedia, match=reason):
            decode_picture(tmp_path / name)


def test_the_content_counts_and_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "größe 图.jpg"
    path.write_bytes(encode_picture(Picture(smooth()), ".png"))
    np.testing.assert_array_equal(decode_picture(path).pixels, smooth())


def test_many_threads_at_once() -> None:
    good, bad = encode_picture(Picture(smooth()), ".tif"), png_header(40_000, 40_000)

    def decode(i: int) -> bool:
        try:
            return bool((decode_picture(bad if i % 3 == 0 else good).pixels == smooth()).all())
        except BadMedia:
            return i % 3 == 0

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(decode, range(60)))


def test_without_pillow_the_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(UserError, match="needs the package Pillow"):
        decode_picture(Path("a.png"))


# --- sizes ------------------------------------------------------------------------------------


def test_box_is_the_mean_of_each_share() -> None:
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    found = resized(pixels, 2, 2, how="box")
    want = pixels.reshape(2, 2, 2, 2, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(found, want, atol=0.5)


def test_smaller_is_an_average_and_not_a_sample() -> None:
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 200
    for how in ("bilinear", "bicubic", "box"):
        assert np.abs(resized(stripes, 8, 8, how=how)[:, 1:-1].astype(int) - 100).max() <= 8


def test_sized_between_keeps_the_shape_and_the_bounds() -> None:
    assert sized_between(smooth(20, 30), least=60, most=900).shape == (60, 90, 3)
    assert sized_between(smooth(20, 30), least=60, most=45).shape == (30, 45, 3)
    assert sized_between(smooth(20, 30), least=10, most=40).shape == (20, 30, 3)
    assert sized_between(smooth(2, 400), least=100, most=200).shape == (1, 200, 3)
