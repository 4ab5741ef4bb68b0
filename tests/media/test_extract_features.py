from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from media_support import Mean, sounds, videos, write_png, write_wav
from support import Recorder
from withhold.core.errors import UserError
from withhold.media.extract_features import extract, plan
from withhold.media.extraction_note import METADATA, extractor_of, with_raw_media
from withhold.records.dataset import Dataset
from withhold.records.readers import Samples


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    clips = [rng.integers(0, 256, n, np.uint8).tobytes() for n in rng.integers(600, 4000, 30)]
    columns = {"audio_mulaw_8khz": clips, "word": np.arange(30) % 3, "take": np.arange(30) // 3}
    path = tmp_path_factory.mktemp("media") / "clips.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_features_and_every_other_column(path):
    seen = Recorder()
    data = extract(path, progress=seen)
    assert data.x.shape == (30, 1024)
    assert data.attribute_names == ("word", "take")
    assert data.name == "clips.parquet"
    assert "no split" in seen.text
    assert seen.steps == {"logmel": 30}


def test_held_out_clips_have_no_say_in_the_statistics(path):
    data = extract(path, test="take>=8")
    assert (data.parts == "test").tolist() == [i // 3 >= 8 for i in range(30)]
    apart = extract(path)
    assert not np.allclose(extractor_of(data).mean, extractor_of(apart).mean)


def test_other_clips_in_test_leave_the_statistics_alone(path, tmp_path):
    table = pq.read_table(path)
    sound = table.column(0).to_pylist()
    louder = [s if i < 24 else bytes([0, 255]) * 900 for i, s in enumerate(sound)]
    other = table.set_column(0, "audio_mulaw_8khz", pa.array(louder))
    pq.write_table(other, tmp_path / "clips.parquet")
    one, two = extract(path, test="take>=8"), extract(tmp_path / "clips.parquet", test="take>=8")
    assert np.array_equal(extractor_of(one).mean, extractor_of(two).mean)
    assert np.array_equal(one.x[:24], two.x[:24])
    assert not np.allclose(one.x[24:], two.x[24:], atol=1e-3)


def test_a_file_remembers_how_its_features_were_made(path, tmp_path):
    data = extract(path, test="take>=8")
    data.write(tmp_path / "features.parquet")
    again = extract(path, like=tmp_path / "features.parquet")
    assert np.abs(again.x - data.x).max() < 1e-6
    back = with_raw_media(Dataset.read(tmp_path / "features.parquet"), path)
    one = back.raw.views(np.arange(5), seed=3, progress=Recorder())
    two = data.raw.views(np.arange(5), seed=3, progress=Recorder())
    assert np.abs(np.array(one) - np.array(two)).max() < 1e-6


def test_what_was_skipped_is_told_and_passed_by_later(tmp_path):
    for i in range(12):
        write_wav(
            tmp_path / "s" / f"{i:02d}.wav", 0.1 * np.random.default_rng(i).standard_normal(900)
        )
    for i in (0, 7):
        (tmp_path / "s" / f"{i:02d}.wav").write_bytes(b"")
    seen = Recorder()
    data = extract(tmp_path / "s", progress=seen)
    assert len(data) == 10
    assert "skipped 2: 00.wav (" in seen.text
    data.write(tmp_path / "x.parquet")
    back = with_raw_media(Dataset.read(tmp_path / "x.parquet"), tmp_path / "s")
    assert back.raw.places.tolist() == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
    assert np.abs(back.raw.features(np.arange(10)) - data.x).max() < 1e-5


def test_raw_media_must_be_those_of_the_features(path, tmp_path):
    extract(path).write(tmp_path / "x.parquet")
    data, table = Dataset.read(tmp_path / "x.parquet"), pq.read_table(path)
    pq.write_table(table.slice(1), tmp_path / "fewer.parquet")
    with pytest.raises(UserError, match=r"has 29 sounds, x\.parquet has 30 records"):
        with_raw_media(data, tmp_path / "fewer.parquet")
    pq.write_table(table.take(list(range(29, -1, -1))), tmp_path / "turned.parquet")
    with pytest.raises(UserError, match=r"does not give the features of x\.parquet; --raw must be"):
        with_raw_media(data, tmp_path / "turned.parquet")
    several = extract(videos(3, frames=60), extractor="frame-stats", clips=2)
    with pytest.raises(UserError, match="has several windows per video"):
        with_raw_media(several, tmp_path / "fewer.parquet")


def test_an_extractor_of_its_own_and_a_collection_in_memory():
    data = extract(sounds(9), extractor=Mean())
    np.testing.assert_allclose(data.x[:, 0], (np.arange(9) + 1) / 1000, rtol=1e-5)
    assert data.table["n"].to_pylist() == list(range(9))


def test_an_image_tree(tmp_path):
    for who in ("anna", "ben"):
        for i in range(3):
            write_png(tmp_path / "faces" / who / f"{i}.png", 40 * i)
    data = extract(tmp_path / "faces", extractor="pixels")
    assert data.table["folder"].to_pylist() == ["anna"] * 3 + ["ben"] * 3
    assert np.array_equal(data.x[0], data.x[3])
    with pytest.raises(UserError, match="faces holds no sound files"):
        extract(tmp_path / "faces")


# --- mistakes are found before anything is extracted ---


class Never(Mean):
    def prepare(self, sample):
        raise AssertionError("extracted")


def labelled(**labels):
    return Samples(sounds(6).samples, pa.table(labels), "sound", "mine")


@pytest.mark.parametrize(
    ("media", "how", "told"),
    [
        (sounds(6), {"test": "m>3"}, "column 'm' is not in the media"),
        (sounds(6), {"test": "n>99"}, "'n>99' holds for no record of the media"),
        (sounds(6), {"test": "n"}, "is not COLUMN OP VALUE"),
        (labelled(x=range(6)), {}, "'x' is a label of mine and also the name of the features"),
        (sounds(6), {"clips": 10}, "this extractor takes sounds"),
        (videos(2), {}, "the media holds clips, 'mean' takes sounds"),
    ],
)
def test_mistakes_of_the_plan(media, how, told):
    with pytest.raises(UserError) as caught:
        plan(media, extractor=Never(), **how)
    assert told in str(caught.value)


def test_a_split_without_training_records():
    media = labelled(split=["test"] * 6)
    with pytest.raises(UserError, match="no record of mine is in split 'train'"):
        plan(media, extractor="logmel")
    assert len(extract(media, extractor=Mean())) == 6  # it needs no statistics


def test_mistakes_of_names(path, tmp_path):
    with pytest.raises(UserError, match="no extractor 'logmell'; did you mean 'logmel'"):
        extract(path, extractor="logmell")
    with pytest.raises(UserError, match=r"'take>=99' holds for no record of clips\.parquet"):
        extract(path, test="take>=99")
    with pytest.raises(UserError, match="cannot be read"):
        plan(videos(2), extractor="frame-stats", annotations=tmp_path / "none.json")
    bare = Dataset.from_arrays(np.zeros((30, 2)))
    with pytest.raises(UserError, match="does not say how its features were extracted"):
        extractor_of(bare)
    with pytest.raises(UserError, match="does not say how its features were extracted"):
        with_raw_media(bare, path)


def test_mistakes_of_like(path, tmp_path):
    data = extract(path)
    data.write(tmp_path / "x.parquet")
    data.write(tmp_path / "x.npz")
    for like, told in (
        (tmp_path / "x.npz", "an npz cannot store it"),
        (path, "does not say how"),
        (tmp_path / "none.parquet", "no such file"),
        (tmp_path, "cannot read"),
    ):
        with pytest.raises(UserError, match=told):
            plan(path, like=like)
    with pytest.raises(UserError, match=r"x\.parquet was made with 'logmel', not with 'pixels'"):
        plan(path, like=tmp_path / "x.parquet", extractor="pixels")
    with pytest.raises(UserError, match="leave out --set, --weights"):
        plan(path, like=tmp_path / "x.parquet", settings={"bands": 3})


@pytest.mark.parametrize("note", [{"name": "logmel", "rate": 8000}, {"rate": 1}, {"name": "gone"}])
def test_notes_of_another_version(path, tmp_path, note):
    table = pa.table({"x": pa.array([[0.0]], pa.list_(pa.float32(), 1))})
    table = table.replace_schema_metadata({METADATA: json.dumps(note)})
    pq.write_table(table, tmp_path / "old.parquet")
    with pytest.raises(UserError, match=r"another version|no extractor 'gone'"):
        plan(path, like=tmp_path / "old.parquet")


def test_a_library_that_stumbles_over_the_first_file(monkeypatch):
    from withhold.media import cutting

    def stumbles(content):
        if content.samples[0] < 0.0015:
            raise ValueError("odd header")
        return content

    monkeypatch.setitem(cutting._DECODERS, "sound", stumbles)
    data = extract(sounds(5), extractor="logmel")
    assert data.table["n"].to_pylist() == [1, 2, 3, 4]
