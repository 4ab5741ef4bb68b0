"""Samples back to files: of the format they had, and nothing in them but the sample."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from release_support import hum, noisy, picture_bytes, pixels_of
from withhold.media.encode import encode, suffix_for
from withhold.media.ogg import with_serial
from withhold.records.samples import SUFFIXES, BadMedia, Clip, Picture, Sound

CLIP = Clip(np.stack([noisy(i, 16, 16) for i in range(4)]), 10.0)


def sound_bytes(
    form: str, subtype: str | None = None, *, rate: int = 8000, channels: int = 1
) -> bytes:
    out = io.BytesIO()
    wave = np.stack([hum(c) for c in range(channels)], axis=1)
    soundfile.write(out, wave, rate, subtype, format=form)
    return out.getvalue()


@pytest.mark.parametrize("suffix", sorted(SUFFIXES["image"] - {".gif", ".jpe", ".jfif"}))
def test_every_format_of_pictures_stays_what_it_was(suffix: str) -> None:
    assert suffix_for("image", f"a{suffix.upper()}", Path("a")) == suffix
    data = encode(Picture(noisy(0)), None, suffix)
    assert encode(Picture(noisy(0)), None, suffix) == data
    again = pixels_of(data)
    assert again.shape == noisy(0).shape
    if suffix not in (".jpg", ".jpeg", ".avif", ".pgm"):
        np.testing.assert_array_equal(again, noisy(0))


@pytest.mark.parametrize(
    ("kind", "name", "written"),
    [
        ("image", "a.gif", ".png"),
        ("image", "a.jfif", ".jpg"),
        ("image", "a.bin", ".png"),
        ("image", "a", ".png"),
        ("sound", "take.2", ".wav"),
        ("clip", "old.MPG", ".mp4"),
        ("clip", "a.avi", ".avi"),
    ],
)
def test_what_is_not_written_again_becomes_the_nearest_that_is(
    kind: str, name: str, written: str
) -> None:
    assert suffix_for(kind, name, Path(name)) == written  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", sorted(SUFFIXES["clip"]))
def test_every_clip_that_is_read_can_be_written(suffix: str) -> None:
    assert encode(CLIP, None, suffix_for("clip", f"a{suffix}", Path("a")))


@pytest.mark.parametrize("suffix", sorted(SUFFIXES["sound"]))
def test_every_sound_that_is_read_can_be_written_and_gives_the_same_bytes(suffix: str) -> None:
    """An Ogg stream has a number that encoders draw."""
    rate = 48_000 if suffix == ".opus" else 16_000
    sound = Sound(hum(1, 4000), rate)
    written = suffix_for("sound", f"a{suffix}", Path("a"))
    assert written == suffix
    data = encode(sound, None, written)
    assert encode(sound, None, written) == data
    again, found = soundfile.read(io.BytesIO(data))
    assert found == rate
    assert again.ndim == 1
    assert abs(len(again) - 4000) < 3000  # MP3 pads


@pytest.mark.parametrize(
    ("data", "kind", "suffix"),
    [
        (picture_bytes(noisy(0), "JPEG"), "image", ".jpg"),
        (picture_bytes(noisy(0), "PNG"), "image", ".png"),
        (picture_bytes(noisy(0), "GIF"), "image", ".png"),
        (picture_bytes(noisy(0), "TIFF"), "image", ".tif"),
        (sound_bytes("WAV"), "sound", ".wav"),
        (sound_bytes("WAVEX", "PCM_24", channels=2), "sound", ".wav"),
        (sound_bytes("FLAC"), "sound", ".flac"),
        (sound_bytes("NIST"), "sound", ".wav"),
        (sound_bytes("OGG"), "sound", ".ogg"),
        (encode(CLIP, None, ".mkv"), "clip", ".mkv"),
        (encode(CLIP, None, ".mp4"), "clip", ".mp4"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bytes_say_what_they_are(data: bytes, kind: str, suffix: str) -> None:
    assert suffix_for(kind, "row 3", data) == suffix  # type: ignore[arg-type]


def test_bytes_that_are_nothing() -> None:
    with pytest.raises(BadMedia, match="its format is not recognised"):
        suffix_for("image", "row 3", b"nothing")


def test_a_rate_that_the_format_does_not_have_is_bad_media_and_stops_no_run() -> None:
    with pytest.raises(BadMedia, match=r"11025 samples a second cannot be written as \.opus"):
        encode(Sound(hum(0), 11_025), None, ".opus")


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "PCM_U8", "FLOAT", "ULAW"])
def test_wav_keeps_its_coding_and_rate(subtype: str) -> None:
    like = sound_bytes("WAV", subtype, rate=11_025)
    data = encode(Sound(hum(2), 11_025), like, ".wav")
    found = soundfile.info(io.BytesIO(data))
    assert (found.format, found.subtype, found.samplerate) == ("WAV", subtype, 11_025)


@given(serial=st.integers(0, 2**32 - 1))
def test_the_number_of_an_ogg_stream_is_all_that_changes(serial: int) -> None:
    """libsndfile checks the sums of pages: a wrong one is not decoded."""
    data = OGG
    changed = with_serial(data, serial)
    assert changed[14:18] == serial.to_bytes(4, "little")
    np.testing.assert_array_equal(
        soundfile.read(io.BytesIO(changed))[0], soundfile.read(io.BytesIO(data))[0]
    )
    own = int.from_bytes(data[14:18], "little")
    assert with_serial(changed, own) == data  # sums as the encoder made them


OGG = sound_bytes("OGG")


def test_half_an_ogg_file_is_refused() -> None:
    with pytest.raises(ValueError, match="no whole page"):
        with_serial(OGG[:-5])
    with pytest.raises(ValueError, match="byte 0 begins no whole page"):
        with_serial(b"RIFF" + bytes(60))
