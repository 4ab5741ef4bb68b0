"""Sound in and out: known waves through every format, and every way a file can be bad."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile as sf

from withhold.core.errors import UserError
from withhold.media.decode.sounds import decode_sound, encode_sound, resampled
from withhold.records.samples import BadMedia, Sound

FORMATS = [
    (".wav", "PCM_16"), (".wav", "PCM_24"), (".wav", "PCM_U8"), (".wav", "FLOAT"),
    (".wav", "ULAW"), (".flac", "PCM_16"), (".flac", "PCM_24"), (".ogg", "VORBIS"),
    (".opus", "OPUS"), (".mp3", "MPEG_LAYER_III"), (".aiff", "PCM_16"), (".au", "PCM_16"),
    (".w64", "PCM_16"), (".caf", "PCM_16"),
]  # fmt: skip
FORM = {".opus": "OGG"}


def tone(rate: int = 16_000, seconds: float = 0.5, pitch: float = 440.0) -> Sound:
    t = np.arange(round(rate * seconds)) / rate
    return Sound((0.4 * np.sin(2 * np.pi * pitch * t)).astype(np.float32), rate)


def written(
    x: npt.NDArray[np.generic], rate: int, suffix: str = ".wav", subtype: str | None = None
) -> bytes:
    out = io.BytesIO()
    sf.write(out, x, rate, format=FORM.get(suffix, suffix[1:].upper()), subtype=subtype)
    return out.getvalue()


@pytest.mark.parametrize(("suffix", "subtype"), FORMATS)
def test_every_format_decodes_and_is_encoded_like_its_original(suffix: str, subtype: str) -> None:
    sound = tone()
    original = written(sound.samples, sound.rate, suffix, subtype)
    decoded = decode_sound(original)
    assert decoded.rate == sound.rate
    assert decoded.samples.dtype == np.float32
    n = len(sound.samples)
    assert len(decoded.samples) == n
    # A phase off by one sample of a 440 Hz tone would cost 0.07; lossy codings stay below.
    middle = slice(n // 4, 3 * n // 4)
    assert np.abs(decoded.samples[middle] - sound.samples[middle]).max() < 0.04
    again = encode_sound(decoded, original, suffix)
    assert sf.info(io.BytesIO(again)).subtype == subtype
    assert sf.info(io.BytesIO(again)).format == sf.info(io.BytesIO(original)).format
    if subtype.startswith(("PCM", "FLOAT", "ULAW")):
        np.testing.assert_array_equal(decode_sound(again).samples, decoded.samples)
    if sf.info(io.BytesIO(again)).format != "OGG":
        assert encode_sound(decoded, original, suffix) == again


def test_channels_are_averaged() -> None:
    x = np.stack([np.full(100, 0.5), np.full(100, -0.25), np.zeros(100)], axis=1)
    sound = decode_sound(written(x, 8_000, ".wav", "FLOAT"))
    np.testing.assert_allclose(sound.samples, 0.25 / 3, atol=1e-7)


def test_all_of_a_long_file_is_read() -> None:
    x = np.random.default_rng(0).integers(-3000, 3000, 300_001).astype(np.int16)
    sound = decode_sound(written(x, 96_000))
    np.testing.assert_array_equal(sound.samples * 32768, x)


@pytest.mark.parametrize("rate", [8_000, 11_025, 44_100, 96_000])
def test_the_rate_is_kept_and_can_be_changed(rate: int) -> None:
    sound = decode_sound(written(tone(rate).samples, rate, ".wav", "FLOAT"))
    assert sound.rate == rate
    there = resampled(sound, 16_000)
    assert there.rate == 16_000
    assert abs(len(there.samples) - 8_000) <= 1
    # The same tone at the new rate; its ends ring.
    np.testing.assert_allclose(there.samples[1000:7000], tone(16_000).samples[1000:7000], atol=2e-3)


def test_a_tone_above_half_the_new_rate_is_gone() -> None:
    high = resampled(tone(48_000, pitch=12_000), 16_000)
    assert np.abs(high.samples[1000:-1000]).max() < 1e-3


def test_the_same_rate_is_the_same_sound() -> None:
    sound = tone()
    assert resampled(sound, sound.rate) is sound


def test_too_few_samples_for_a_rate() -> None:
    with pytest.raises(BadMedia, match="too short"):
        resampled(Sound(np.zeros(1, np.float32), 96_000), 8_000)


def test_a_file_by_path_whatever_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "Müller – ж.mp3"
    path.write_bytes(written(tone().samples, 16_000))
    np.testing.assert_allclose(decode_sound(path).samples, tone().samples, atol=1e-4)


def test_a_sound_passes_but_not_unchecked() -> None:
    np.testing.assert_array_equal(decode_sound(tone()).samples, tone().samples)
    with pytest.raises(BadMedia, match="NaN"):
        decode_sound(Sound(np.array([0, np.nan], np.float32), 8_000))
    with pytest.raises(BadMedia, match="shape"):
        decode_sound(Sound(np.zeros((4, 2), np.float32), 8_000))
    with pytest.raises(BadMedia, match="rate"):
        decode_sound(Sound(np.zeros(4, np.float32), 0))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"hello, this is no sound at all", "not recognised"),
        (b"RIFF\x24\x08\x00\x00WAVE", "data"),
        (written(np.zeros(0), 8_000), "no samples"),
        (written(np.array([0, np.nan, 0]), 8_000, ".wav", "FLOAT"), "NaN"),
        (written(np.array([0, np.inf, 0]), 8_000, ".wav", "FLOAT"), "NaN or infinite"),
        (written(np.array([0, 1e30, 0]), 8_000, ".wav", "FLOAT"), "far outside"),
        (written(np.zeros(100), 10), "10 samples a second"),
    ],
    # A name of its own for each: a float WAV holds the second it was written in, so the bytes
    # differ from one test process to the other.
    ids=["empty", "text", "header", "no-samples", "nan", "infinite", "loud", "slow"],
)
def test_bad_content_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(BadMedia, match=reason):
        decode_sound(content)


@pytest.mark.parametrize(("suffix", "subtype"), FORMATS)
@pytest.mark.parametrize("kept", [0.02, 0.6])
def test_a_file_that_is_cut_off_is_refused(suffix: str, subtype: str, kept: float) -> None:
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, 32_000)
    whole = written(noise, 16_000, suffix, subtype)
    with pytest.raises(BadMedia):
        decode_sound(whole[: round(len(whole) * kept)])


def test_a_size_left_open_by_a_recorder_on_a_pipe_is_not_a_cut() -> None:
    data = bytearray(written(tone().samples, 16_000))
    data[4:8] = data[40:44] = b"\xff" * 4
    assert len(decode_sound(bytes(data)).samples) == len(tone().samples)


def test_a_sound_too_long_is_refused_from_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(tone().samples, 16_000)
    assert len(decode_sound(data, most_seconds=0.5).samples) == 8_000

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(sf.SoundFile, "read", fail)
    with pytest.raises(BadMedia, match=r"longer than 0\.4 seconds"):
        decode_sound(data, most_seconds=0.4)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadMedia, match="No such file"):
        decode_sound(tmp_path / "none.wav")
    with pytest.raises(BadMedia, match="not a file"):
        decode_sound(tmp_path)
    loop = tmp_path / "loop.wav"
    loop.symlink_to(loop)
    with pytest.raises(BadMedia, match="symbolic links"):
        decode_sound(loop)
    os.mkfifo(tmp_path / "pipe.wav")
    with pytest.raises(BadMedia, match="not a file"):
        decode_sound(tmp_path / "pipe.wav")


def test_loud_sound_is_clipped_for_whole_numbers_and_kept_for_floats() -> None:
    loud = Sound(np.array([0, 1.5, -2, 0.5] * 50, np.float32), 8_000)
    clipped = decode_sound(encode_sound(loud, None, ".wav")).samples
    np.testing.assert_allclose(clipped[:4], [0, 1, -1, 0.5], atol=1e-4)
    floats = encode_sound(loud, written(np.zeros(9), 8_000, ".wav", "FLOAT"), ".wav")
    np.testing.assert_array_equal(decode_sound(floats).samples, loud.samples)
    peak = floats.index(b"PEAK")
    assert floats[peak + 12 : peak + 16] == bytes(4)  # the second at which it was written


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".ogg", ".mp3"])
def test_no_tag_of_the_original_survives(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with sf.SoundFile(path, "w", 16_000, 1) as file:
        file.title, file.artist = "Confession", "Anna Karenina"
        file.write(tone().samples)
    assert b"Karenina" in path.read_bytes()
    out = encode_sound(decode_sound(path), path, suffix)
    assert b"Karenina" not in out
    assert b"Confession" not in out


def test_a_coding_the_format_lacks_gives_way_to_its_own() -> None:
    floats = written(np.zeros(9), 8_000, ".wav", "FLOAT")
    assert sf.info(io.BytesIO(encode_sound(tone(), floats, ".flac"))).subtype == "PCM_16"
    assert sf.info(io.BytesIO(encode_sound(tone(), b"what", ".FLAC"))).subtype == "PCM_16"


def test_what_cannot_be_written_is_said() -> None:
    with pytest.raises(UserError, match=r"'\.xyz'"):
        encode_sound(tone(), None, ".xyz")
    with pytest.raises(UserError, match="96000 samples a second"):
        encode_sound(tone(96_000), None, ".mp3")


def test_a_long_sound_is_written_whole_as_vorbis() -> None:
    long = tone(48_000, seconds=60)
    assert len(decode_sound(encode_sound(long, None, ".ogg")).samples) == len(long.samples)


def test_an_hour_at_a_high_rate_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence packs so well that a small file is gigabytes of samples."""
    from withhold.media.decode import sounds

    monkeypatch.setattr(sounds, "_MOST_SAMPLES", 10_000)
    silent = encode_sound(Sound(np.zeros(10_001, np.float32), 8000), None, ".flac")
    with pytest.raises(BadMedia, match="more than 10,000 samples"):
        decode_sound(silent)
