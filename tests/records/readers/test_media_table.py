from __future__ import annotations

import csv
import datetime
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from media_support import constant, write_png, write_wav
from withhold.core.errors import UserError
from withhold.records.readers.media_table import MULAW, MediaTable
from withhold.records.samples import BadMedia, Sound

WAVES = [np.float32([0.1, -0.2, 0.3]), np.float32([0.5]), np.float32([-1, 1, 0, 0.25, 0.125])]


def write(path, /, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def read(path, kind="sound", **how):
    return MediaTable.read(path, kind, **how)


def contents(stored):
    return [item.content for item in stored.items()]


# --- bare sound ---


def test_mu_law_against_its_formula(tmp_path):
    """y = u/127.5 - 1; x = sign(y) (256^|y| - 1) / 255."""
    path = write(tmp_path / "t.parquet", audio_mulaw_8khz=[bytes(range(256))])
    (sound,) = contents(read(path))
    y = np.arange(256) / 127.5 - 1
    assert np.allclose(sound.samples, np.sign(y) * (256 ** np.abs(y) - 1) / 255, atol=1e-7)
    assert sound.samples.dtype == np.float32
    assert (MULAW[0], MULAW[255]) == (-1, 1)
    assert (np.diff(MULAW) > 0).all()
    assert np.allclose(MULAW, -MULAW[::-1])


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
def test_bytes_without_a_mark_are_mu_law(tmp_path, kind):
    column = pa.array([b"\x00\xff", b"\x80"], kind)
    stored = read(write(tmp_path / "t.parquet", audio_8khz=column, speaker=["a", "b"]))
    assert stored.form == "mulaw"
    assert [s.samples.tolist() for s in contents(stored)] == [[-1, 1], [MULAW[128]]]
    assert [dict(item.labels) for item in stored.items()] == [{"speaker": "a"}, {"speaker": "b"}]
    assert stored.labels()["speaker"].to_pylist() == ["a", "b"]
    assert [item.name for item in stored.items()] == ["row 0", "row 1"]


def test_mu_law_that_begins_like_a_file_now_and_then(tmp_path):
    clips = [b"\xff\xfb\x80", b"ID3x", b"\x80\x80", b"\x80\x81", b"\x10\x20"]
    assert read(write(tmp_path / "t.parquet", audio_8khz=clips)).form == "mulaw"
    files = [b"RIFFxxxx", b"fLaC", b"garbage", None]
    assert read(write(tmp_path / "f.parquet", audio_8khz=files)).form == "bytes"


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.float32())],
    ids=str,
)
def test_lists_of_floats(tmp_path, kind):
    path = write(tmp_path / "t.parquet", sound=pa.array([w.tolist() for w in WAVES], kind))
    found = contents(read(path, rate=22050))
    for sound, wave in zip(found, WAVES, strict=True):
        assert np.array_equal(sound.samples, wave)
        assert sound.rate == 22050


def test_lists_of_sixteen_bits(tmp_path):
    clips = pa.array([[-32768, 0], [16384, 32767]], pa.list_(pa.int16(), 2))
    found = contents(read(write(tmp_path / "t.parquet", wave=clips), rate=8000))
    assert [s.samples.tolist() for s in found] == [[-1, 0], [0.5, np.float32(32767 / 32768)]]


def test_items_from_anywhere(tmp_path):
    rng = np.random.default_rng(0)
    clips = [rng.integers(0, 256, n, np.uint8).tobytes() for n in rng.integers(1, 9, 2000)]
    stored = read(write(tmp_path / "t.parquet", audio_8khz=clips, number=np.arange(2000)))
    assert len(stored) == 2000
    for start in (0, 1, 255, 256, 257, 1999, 2000):
        found = list(stored.items(start))
        assert [item.labels["number"] for item in found] == list(range(start, 2000))
        for item in found[:3]:
            clip = np.frombuffer(clips[item.labels["number"]], np.uint8)
            assert np.array_equal(item.content.samples, MULAW[clip])


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
    assert contents(read(path))[0].rate == rate
    assert contents(read(path, rate=11025))[0].rate == 11025
    assert read(path).stamp() != read(path, rate=11025).stamp()
    assert read(path).digest() != read(path, rate=11025).digest()


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([b"ab", None]), "it is missing (null)"),
        (pa.array([b"ab", b""]), "it has no samples"),
        (pa.array([[0.5], []]), "it has no samples"),
        (pa.array([[0.5], [0.1, np.nan]]), "NaN or infinite"),
        (pa.array([[0.5], [np.inf]]), "NaN or infinite"),
        (pa.array([[0.5], [0.5, None]]), "NaN or infinite"),
        (pa.array([[1], [1, None]], pa.list_(pa.int16())), "NaN or infinite"),
        (pa.array([b"RIFFxxxx", b""]), "it is empty"),
    ],
)
def test_a_bad_record_is_an_item_with_its_reason(tmp_path, column, reason):
    good, bad = contents(read(write(tmp_path / "t.parquet", audio_8khz=column)))
    assert isinstance(good, Sound | bytes)
    assert isinstance(bad, BadMedia)
    assert reason in str(bad)


# --- files in a column, and paths to files ---


def test_encoded_bytes(tmp_path):
    wav = write_wav(tmp_path / "a.wav", constant(0.1)).read_bytes()
    png = write_png(tmp_path / "a.png", 7).read_bytes()
    path = write(tmp_path / "t.parquet", audio=[wav, wav], picture=[png, None], who=["a", "b"])
    sounds, pictures = read(path), read(path, "image")
    assert (sounds.form, sounds.column, sounds.rate) == ("bytes", "audio", None)
    assert contents(sounds) == [wav, wav]
    assert (pictures.form, pictures.column) == ("bytes", "picture")
    assert contents(pictures)[0] == png
    assert pictures.schema.names == ["audio", "who"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_manifest(tmp_path, suffix):
    inside = write_wav(tmp_path / "sub" / "größe, 1.wav", constant(0.1))
    outside = write_wav(tmp_path.parent / f"{tmp_path.name}-far.wav", constant(0.1))
    paths = ["sub/größe, 1.wav", str(outside), "gone.wav", None]
    table = pa.table({"path": paths, "who": ["a", "b", "c", "d"], "n": [1, 2, 3, None]})
    path = tmp_path / f"list{suffix}"
    if suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(
                [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
            )
    else:
        pq.write_table(table, path)
    stored = read(path, allow_outside=True)
    assert (stored.form, len(stored)) == ("path", 4)
    items = list(stored.items())
    assert [item.content for item in items[:3]] == [inside, outside, tmp_path / "gone.wav"]
    assert [item.name for item in items[:3]] == paths[:3]
    assert dict(items[0].labels) == {"file": "sub/größe, 1", "who": "a", "n": 1}
    assert stored.schema.names == ["file", "who", "n"]
    assert stored.labels().column_names == ["file", "who", "n"]
    assert [item.labels.get("file") for item in items] == stored.labels()["file"].to_pylist()
    assert isinstance(items[3].content, BadMedia) or suffix == ".csv"
    assert len(list(stored.items(3))) == 1


def test_paths_that_are_no_paths(tmp_path):
    path = write(tmp_path / "t.parquet", path=["", ".", "..", "/", "a\0b.wav", "x" * 300 + ".wav"])
    stored = read(path, allow_outside=True)
    items = list(stored.items())
    assert [item.labels["file"] for item in items] == ["", ".", "..", "/", "a\0b", "x" * 300]
    stored.stamp(), stored.digest()


def test_names_keep_their_suffix_where_they_need_it(tmp_path):
    path = write(tmp_path / "t.parquet", path=["a.wav", "a.flac"])
    assert [item.labels["file"] for item in read(path).items()] == ["a.wav", "a.flac"]


def test_a_column_of_files_that_is_there_already_wins(tmp_path):
    path = write(tmp_path / "t.parquet", path=["a.wav"], file=["mine"])
    with pytest.raises(UserError, match="cannot find the column"):
        read(path)
    stored = read(path, column="path")
    assert stored.schema.names == ["file"]
    assert next(stored.items()).labels["file"] == "mine"


def test_a_changed_file_changes_the_stamp_of_its_manifest(tmp_path):
    write_wav(tmp_path / "a.wav", constant(0.1))
    path = write(tmp_path / "t.parquet", path=["a.wav", "gone.wav"])
    first, digest = read(path).stamp(), read(path).digest()
    assert read(path).stamp() == first
    os.utime(tmp_path / "a.wav", ns=(1, 1))
    assert read(path).stamp() != first
    assert read(path).digest() == digest
    write_wav(tmp_path / "a.wav", constant(0.2))
    assert read(path).digest() != digest


def test_text_is_in_the_column_or_in_files(tmp_path):
    path = write(tmp_path / "t.parquet", text=["hello", "", None], path=["a.txt", "b.txt", "c.txt"])
    first, *bad = contents(read(path, "text"))
    assert first == "hello"
    assert all(isinstance(one, BadMedia) for one in bad)
    assert contents(read(path, "text", column="path"))[0] == tmp_path / "a.txt"


@pytest.mark.parametrize(
    ("kind", "columns", "column"),
    [
        ("image", {"path": ["a"], "face_shape": ["round"]}, "path"),
        ("image", {"path": ["a"], "face_count": [1]}, "path"),
        ("image", {"jpeg": [b"a"], "path": ["a"]}, "jpeg"),
        ("image", {"image": ["a.png"], "who": ["b"]}, "image"),
        ("sound", {"wave_height": [1.5], "filename": ["a"]}, "filename"),
        ("clip", {"video": ["a.mp4"], "label": [1]}, "video"),
    ],
)
def test_labels_are_not_taken_for_media(tmp_path, kind, columns, column):
    assert read(write(tmp_path / "t.parquet", **columns), kind).column == column


def test_times_to_the_nanosecond_need_no_pandas(tmp_path):
    when = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))
    took = pa.array([1_001], pa.duration("ns"))
    path = write(tmp_path / "t.parquet", audio_8khz=[b"a"], when=when, took=took)
    labels = next(read(path).items()).labels
    assert type(labels["when"]) is datetime.datetime
    assert labels["took"] == datetime.timedelta(microseconds=1)
    assert pa.Table.from_pylist([labels], schema=read(path).schema).num_rows == 1


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"audio": [b"a"]}, {}, "sample rate of 'audio' is not known; give it with --rate"),
        (
            {"clip": [b"a"]},
            {},
            r"cannot find the column .*\(columns: clip\); name it with --column",
        ),
        ({"audio_a": [b"a"], "audio_b": [b"a"]}, {}, "cannot find the column"),
        ({"audio_8khz": [b"a"]}, {"column": "audio_8kh"}, "did you mean 'audio_8khz'"),
        ({"audio_8khz": [[1, 2]]}, {}, "holds int64, not sound samples"),
        ({"audio_8khz": [1.0]}, {}, "is double; sounds are bytes of files, paths, or lists"),
        ({"audio_8khz": [{"a": 1}]}, {}, "is struct<a: int64>; sounds are bytes"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path, columns, options, message):
    with pytest.raises(UserError, match=message) as caught:
        read(write(tmp_path / "t.parquet", **columns), **options)
    assert "\n" not in str(caught.value)
