from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import Recorder
from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.media.extract import extract, extractor_of, with_raw_sounds


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


def test_held_out_clips_have_no_say_in_the_statistics(path):
    data = extract(path, test="take>=8")
    assert (data.parts == "test").tolist() == [i // 3 >= 8 for i in range(30)]
    apart = extract(path)
    assert not np.allclose(extractor_of(data).mean, extractor_of(apart).mean)


def test_a_file_remembers_how_its_features_were_made(path, tmp_path):
    data = extract(path, test="take>=8")
    data.write(tmp_path / "features.parquet")
    again = extract(path, like=tmp_path / "features.parquet")
    assert np.abs(again.x - data.x).max() < 1e-6
    back = with_raw_sounds(Dataset.read(tmp_path / "features.parquet"), path)
    one = back.raw.views(np.arange(5), seed=3, progress=Recorder())
    two = data.raw.views(np.arange(5), seed=3, progress=Recorder())
    assert np.abs(np.array(one) - np.array(two)).max() < 1e-6


def test_mistakes(path, tmp_path):
    with pytest.raises(UserError, match="no extractor 'logmell'; did you mean 'logmel'"):
        extract(path, extractor="logmell")
    with pytest.raises(UserError, match=r"'take>=99' holds for no record of clips\.parquet"):
        extract(path, test="take>=99")
    bare = Dataset.from_arrays(np.zeros((30, 2)))
    with pytest.raises(UserError, match="does not say how its features were extracted"):
        extractor_of(bare)
    with pytest.raises(UserError, match="has 30 clips, the data has 29 records"):
        with_raw_sounds(bare.rows(np.arange(29)), path)
