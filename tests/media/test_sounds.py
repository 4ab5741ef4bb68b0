from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.errors import UserError
from withhold.media.sounds import MULAW, Sounds, read_sounds

WAVES = [np.float32([0.1, -0.2, 0.3]), np.float32([0.5]), np.float32([-1, 1, 0, 0.25, 0.125])]


def write(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


# --- clips ---


def test_clips_of_any_length():
    sounds = Sounds.from_waveforms(WAVES, 8000)
    assert len(sounds) == 3
    assert sounds.lengths.tolist() == [3, 1, 5]
    waves, lengths = sounds.padded(np.array([2, 0, 1, 0]))
    assert waves.shape == (4, 5)
    assert waves.dtype == np.float32
    assert lengths.tolist() == [5, 3, 1, 3]
    for got, clip in zip(waves, (WAVES[2], WAVES[0], WAVES[1], WAVES[0]), strict=True):
        assert np.array_equal(got[: len(clip)], clip)
        assert not got[len(clip) :].any()


def test_padding_is_to_the_longest_of_those_asked_for():
    assert Sounds.from_waveforms(WAVES, 8000).padded(np.array([0, 1]))[0].shape == (2, 3)


def test_some_clips_are_a_copy():
    sounds = Sounds.from_waveforms(WAVES, 8000)
    some = sounds.rows(np.array([2, 1]))
    assert some.lengths.tolist() == [5, 1]
    assert some.rate == 8000
    assert np.array_equal(some.padded(np.array([0]))[0][0], WAVES[2])
    some.values[:] = 0
    assert np.array_equal(sounds.padded(np.array([2]))[0][0], WAVES[2])
    assert len(sounds.rows(np.array([], np.int64))) == 0


def test_mu_law_against_its_formula():
    """y = u/127.5 - 1; x = sign(y) (256^|y| - 1) / 255, silence padded after decoding."""
    sounds = Sounds(np.arange(256, dtype=np.uint8), np.array([0, 200, 256]), 8000)
    waves, _ = sounds.padded(np.array([0, 1]))
    y = np.arange(256) / 127.5 - 1
    x = np.sign(y) * (256 ** np.abs(y) - 1) / 255
    assert np.allclose(np.concatenate([waves[0], waves[1, :56]]), x, atol=1e-7)
    assert not waves[1, 56:].any()
    assert MULAW[0] == -1
    assert MULAW[255] == 1
    assert (np.diff(MULAW) > 0).all()
    assert np.allclose(MULAW, -MULAW[::-1])


def test_sixteen_bits():
    values = np.int16([-32768, 0, 16384, 32767])
    waves, _ = Sounds(values, np.array([0, 4]), 16000).padded(np.array([0]))
    assert waves.tolist() == [[-1, 0, 0.5, np.float32(32767 / 32768)]]


# --- reading ---


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\x00\xff", b"\x80"]),
        pa.array([b"\x00\xff", b"\x80"], pa.large_binary()),
    ],
    ids=["binary", "large"],
)
def test_bytes_are_mu_law(tmp_path, column):
    path = write(tmp_path / "t.parquet", audio_mulaw_8khz=column, speaker=["a", "b"])
    sounds, table = read_sounds(path)
    assert sounds.rate == 8000
    waves, lengths = sounds.padded(np.arange(2))
    assert lengths.tolist() == [2, 1]
    assert waves.tolist() == [[-1, 1], [MULAW[128], 0]]
    assert table.column_names == ["speaker"]
    assert table["speaker"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.float32())],
    ids=str,
)
def test_lists_of_floats(tmp_path, kind):
    path = write(tmp_path / "t.parquet", sound=pa.array([w.tolist() for w in WAVES], kind))
    sounds, _ = read_sounds(path, rate=22050)
    assert sounds.rate == 22050
    waves, lengths = sounds.padded(np.arange(3))
    assert lengths.tolist() == [3, 1, 5]
    assert np.array_equal(waves[2], WAVES[2])


def test_lists_of_sixteen_bits(tmp_path):
    clips = pa.array([[1, -2], [3, 4]], pa.list_(pa.int16(), 2))
    sounds, _ = read_sounds(write(tmp_path / "t.parquet", wave=clips), rate=8000)
    assert sounds.values.dtype == np.int16
    assert np.array_equal(sounds.padded(np.array([1]))[0][0], np.float32([3, 4]) / 32768)


def test_clips_cross_batches(tmp_path):
    rng = np.random.default_rng(0)
    clips = [rng.integers(0, 256, n, np.uint8).tobytes() for n in rng.integers(1, 9, 9000)]
    path = write(tmp_path / "t.parquet", audio_8khz=clips, number=np.arange(9000))
    sounds, table = read_sounds(path)
    assert len(sounds) == table.num_rows == 9000
    for i in (0, 4095, 4096, 8999):
        start, stop = sounds.offsets[i : i + 2]
        assert sounds.values[start:stop].tobytes() == clips[i]


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("audio_mulaw_8khz", 8000),
        ("audio_16kHz", 16000),
        ("audio_22050hz", 22050),
        ("audio_44.1khz", 44100),
    ],
)
def test_the_rate_is_in_the_name(tmp_path, name, rate):
    path = write(tmp_path / "t.parquet", **{name: [b"ab"]})
    assert read_sounds(path)[0].rate == rate
    assert read_sounds(path, rate=11025)[0].rate == 11025


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"audio": [b"a"]}, {}, "sample rate of 'audio' is not known; give it with --rate"),
        ({"clip": [b"a"]}, {}, r"cannot tell which .*\(columns: clip\); name it with --column"),
        ({"audio_a": [b"a"], "audio_b": [b"a"]}, {}, "cannot tell which column"),
        ({"audio_8khz": [b"a"]}, {"column": "audio_8kh"}, "did you mean 'audio_8khz'"),
        ({"audio_8khz": [b"a", None]}, {}, r"records without sound \(null\)"),
        ({"audio_8khz": [b"a", b"b", b""]}, {}, "row 2 is an empty clip"),
        ({"audio_8khz": [[0.5], [np.nan]]}, {}, "NaN or infinite samples"),
        ({"audio_8khz": [[0.5], [np.inf]]}, {}, "NaN or infinite samples"),
        ({"audio_8khz": pa.array([[1, None]], pa.list_(pa.int16()))}, {}, "missing samples"),
        ({"audio_8khz": pa.array([[0.5, None]])}, {}, "missing samples"),
        ({"audio_8khz": [[1, 2]]}, {}, "holds int64, not sound samples"),
        ({"audio_8khz": ["text"]}, {}, "is string; sound is binary"),
        ({"audio_8khz": [1.0]}, {}, "is double; sound is binary"),
        ({"audio_8khz": [{"a": 1}]}, {}, "is struct<a: int64>; sound is binary"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path, columns, options, message):
    with pytest.raises(UserError, match=message) as caught:
        read_sounds(write(tmp_path / "t.parquet", **columns), **options)
    assert "\n" not in str(caught.value)
