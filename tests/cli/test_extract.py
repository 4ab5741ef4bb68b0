"""`withhold extract`: three encodings of one sound, `--like`, and a fit with raw views."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import TINY
from withhold.bundle import load_bundle
from withhold.data.worlds import Voices, voices
from withhold.dataset import Dataset

from .conftest import Run, snapshot


@pytest.fixture(scope="module")
def spoken() -> Voices:
    return voices(speakers=4, takes=4, seed=1)


def mulaw(wave: np.ndarray) -> bytes:
    y = np.sign(wave) * np.log1p(255 * np.abs(wave)) / np.log(256)
    return np.rint((y + 1) * 127.5).astype(np.uint8).tobytes()


@pytest.fixture
def media(spoken: Voices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    waves = [np.clip(w, -1, 1) for w in spoken.waveforms]
    columns = {
        "float": pa.array([w.astype(np.float32) for w in waves], pa.list_(pa.float32())),
        "int16": pa.array([np.rint(w * 32767).astype(np.int16) for w in waves]),
        "mulaw": pa.array([mulaw(w) for w in waves], pa.binary()),
    }
    for name, sound in columns.items():
        table = spoken.attributes.append_column("audio_8khz", sound)
        pq.write_table(table, f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("encoding", ["int16", "mulaw"])
def test_encodings_agree(media: Path, cli: Run, encoding: str) -> None:
    for name in ("float", encoding):
        ran = cli("extract", f"{name}.parquet", "-o", f"{name}-x.parquet", "--json", "--quiet")
        assert (ran.code, ran.err) == (0, "")
        assert ran.json["records"] == 160
    one, two = Dataset.read("float-x.parquet"), Dataset.read(f"{encoding}-x.parquet")
    assert one.attribute_names == two.attribute_names == (
        "speaker", "digit", "gender", "accent", "take"
    )  # fmt: skip
    assert one.table["split"].equals(two.table["split"])
    # Quantising adds noise, most of it where there was silence.
    correlation = np.corrcoef(one.x.ravel(), two.x.ravel())[0, 1]
    assert correlation > (0.99 if encoding == "int16" else 0.8)


def test_like_uses_the_statistics_of_the_other(media: Path, cli: Run) -> None:
    assert cli("extract", "int16.parquet", "-o", "all.parquet", "-q").code == 0
    pq.write_table(pq.read_table("int16.parquet").slice(100, 20), "some.parquet")
    like = ("--like", "all.parquet")
    assert cli("extract", "some.parquet", "-o", "like.parquet", *like, "-q").code == 0
    assert cli("extract", "some.parquet", "-o", "own.parquet", "-q").code == 0
    wanted = Dataset.read("all.parquet").x[100:120]
    np.testing.assert_allclose(Dataset.read("like.parquet").x, wanted, atol=1e-4)
    assert np.abs(Dataset.read("own.parquet").x - wanted).max() > 0.01


def test_column_rate_and_held_out_takes(media: Path, cli: Run) -> None:
    table = pq.read_table("int16.parquet")
    names = ["clip" if n == "audio_8khz" else n for n in table.column_names]
    pq.write_table(table.rename_columns(names).drop_columns(["split"]), "plain.parquet")
    ran = cli("extract", "plain.parquet", "-o", "all.parquet", "--column", "clip", "--rate", "8000")
    assert ran.code == 0
    assert "no split, so features are standardised with the statistics of all clips" in ran.err
    ran = cli("extract", "plain.parquet", "-o", "x.parquet", "--column", "clip", "--rate", "8000",
              "--test", "take>=3")  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    data = Dataset.read("x.parquet")
    takes = np.asarray(data.table["take"])
    assert data.parts is not None
    np.testing.assert_array_equal(data.parts == "test", takes >= 3)


def test_fit_with_raw_views(media: Path, cli: Run) -> None:
    Path("tiny.yaml").write_text(json.dumps(TINY))
    assert cli("extract", "mulaw.parquet", "-o", "x.parquet", "-q").code == 0
    fit = ("fit", "x.parquet", "--suppress", "speaker", "--preserve", "digit",
           "--method", "mass", "--config", "tiny.yaml")  # fmt: skip
    ran = cli(*fit, "--raw", "mulaw.parquet", "-o", "raw")
    assert ran.code == 0
    assert "made of the features" not in ran.err
    ran = cli(*fit, "-o", "plain")
    assert "made of the features" in ran.err
    weights = "weights.safetensors"
    assert Path("raw", weights).read_bytes() != Path("plain", weights).read_bytes()
    assert load_bundle("raw").input["sha256"] == load_bundle("plain").input["sha256"]

    pq.write_table(pq.read_table("mulaw.parquet").slice(1), "fewer.parquet")
    before = snapshot(media)
    told = cli(*fit, "--raw", "fewer.parquet", "-o", "b").mistake
    assert "fewer.parquet has 159 clips, x.parquet has 160 records" in told
    assert snapshot(media) == before


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (pa.array([b"ab", None]), "has records without sound (null)"),
        (pa.array([b"ab", b""]), "row 1 is an empty clip"),
        (pa.array([[0.1, float("nan")], [0.0]]), "NaN or infinite samples"),
        (pa.array([[1, 2], [3]], pa.list_(pa.int64())), "holds int64, not sound samples"),
        (pa.array(["a", "b"]), "is string; sound is binary"),
    ],
)
def test_odd_sound_is_refused(
    tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch, value: pa.Array, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"audio_8khz": value, "a": ["x", "y"]}), "m.parquet")
    Path("e.parquet").write_text("older")
    before = snapshot(tmp_path)
    assert told in cli("extract", "m.parquet", "-o", "e.parquet").mistake
    assert snapshot(tmp_path) == before
