"""`withhold extract`: folders, manifests and columns, `--like`, bad media, and raw views."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from media_support import constant, write_png, write_wav
from support import TINY
from withhold.bundle.bundle import load_bundle
from withhold.datasets.worlds import Voices, voices
from withhold.media.extractors.extractor_registry import EXTRACTORS
from withhold.records.dataset import Dataset

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


def test_files_in_a_folder_a_manifest_and_a_column_agree(media: Path, cli: Run) -> None:
    table = pq.read_table("int16.parquet").slice(0, 30)
    names = []
    for i, row in enumerate(table.to_pylist()):
        names.append(f"sounds/{row['speaker']}_{row['digit']}_{i:02d}.wav")
        write_wav(Path(names[-1]), np.array(row["audio_8khz"]) / 32767)
    labels = table.drop_columns(["audio_8khz", "split"])
    order = np.argsort(names)
    with Path("list.csv").open("w", newline="") as file:
        rows = zip(names, labels["digit"].to_pylist(), strict=True)
        csv.writer(file).writerows([("path", "digit"), *rows])
    files = [Path(name).read_bytes() for name in names]
    pq.write_table(labels.append_column("wav", pa.array(files)), "bytes.parquet")

    pattern = ("--pattern", "{speaker}_{digit}_{n}.wav")
    for what, how in (("sounds", pattern), ("list.csv", ()), ("bytes.parquet", ())):
        out = f"{Path(what).stem}-x.parquet"
        ran = cli("extract", what, "-o", out, *how, "--json")
        assert (ran.code, ran.json["records"], ran.json["skipped"]) == (0, 30, 0)
    folder, manifest, column = (
        Dataset.read(f"{name}-x.parquet") for name in ("sounds", "list", "bytes")
    )
    assert np.abs(manifest.x - column.x).max() < 1e-6
    assert np.abs(folder.x - column.x[order]).max() < 1e-5
    assert folder.table["digit"].to_pylist() == [int(labels["digit"][i].as_py()) for i in order]
    assert folder.attribute_names == ("file", "speaker", "digit", "n")
    assert manifest.table["file"].to_pylist() == [name.removesuffix(".wav") for name in names]


def test_an_image_tree_with_bad_images(
    tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for who in ("anna", "ben"):
        for i in range(4):
            write_png(Path("faces", who, f"{i}.png"), 40 * i + len(who))
    Path("faces/ben/3.png").write_bytes(Path("faces/ben/3.png").read_bytes()[:50])
    Path("faces/anna/3.png").write_text("no image")
    Path("faces/anna/notes.txt").write_text("hello")
    ran = cli("extract", "faces", "-o", "x.parquet", "--extractor", "pixels")
    assert ran.code == 0
    assert "x.parquet: 6 records of" in ran.out
    assert "2 could not be used; see x.errors.csv" in ran.out
    assert "1 file of another kind was ignored" in ran.out
    assert Dataset.read("x.parquet").table["folder"].to_pylist() == ["anna"] * 3 + ["ben"] * 3
    with Path("x.errors.csv").open(newline="") as file:
        assert [row["file"] for row in csv.DictReader(file)] == ["anna/3.png", "ben/3.png"]
    before = snapshot(tmp_path)
    told = cli("extract", "faces", "-o", "y.parquet", "--extractor", "pixels", "--strict").mistake
    assert "anna/3.png of faces cannot be used: " in told
    assert {k: v for k, v in snapshot(tmp_path).items() if "partial" not in k} == before


def test_output_among_the_media(tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for i in range(3):
        write_wav(Path("s", f"{i}.wav"), 0.1 * np.random.default_rng(i).standard_normal(900))
    first = cli("extract", "s", "-o", "s/x.parquet", "--json")
    again = cli("extract", "s", "-o", "s/x.parquet", "--json")
    assert (first.json["records"], again.json["records"]) == (3, 3)
    assert sorted(p.name for p in Path("s").iterdir()) == ["0.wav", "1.wav", "2.wav", "x.parquet"]
    assert "s has no labels: read them from its names with --pattern" in again.err


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
    assert "no split, so features are standardised with the statistics of all records" in ran.err
    ran = cli("extract", "plain.parquet", "-o", "x.parquet", "--column", "clip", "--rate", "8000",
              "--test", "take>=3")  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    data = Dataset.read("x.parquet")
    takes = np.asarray(data.table["take"])
    assert data.parts is not None
    np.testing.assert_array_equal(data.parts == "test", takes >= 3)


def test_settings(media: Path, cli: Run) -> None:
    pq.write_table(pq.read_table("int16.parquet").slice(0, 9), "few.parquet")
    ran = cli("extract", "few.parquet", "-o", "x.parquet", "--set", "bands=10", "--set",
              " segments = 3", "--json", "-q")  # fmt: skip
    assert ran.json["features"] == 30
    for given, told in (
        ("bandz=3", "extractor 'logmel' has no setting 'bandz'; did you mean 'bands'?"),
        ("bands=x", "setting 'bands' of extractor 'logmel'"),
        ("bands", "--set 'bands' is not NAME=VALUE"),
        ("=3", "--set '=3' is not NAME=VALUE"),
        ("bands=[1", "--set 'bands=[1': the value cannot be read"),
    ):
        assert told in cli("extract", "few.parquet", "-o", "y.parquet", "--set", given).mistake
    assert not Path("y.parquet").exists()


def test_the_list_names_every_extractor(cli: Run) -> None:
    ran = cli("extract", "--list")
    assert (ran.code, ran.err) == (0, "")
    for name in EXTRACTORS:
        assert f"\n{name} " in f"\n{ran.out}"
    assert ran.out.count("licence: ") == len(EXTRACTORS)


def test_fit_with_raw_views(media: Path, cli: Run) -> None:
    Path("tiny.yaml").write_text(json.dumps(TINY))
    assert cli("extract", "mulaw.parquet", "-o", "x.parquet", "-q").code == 0
    fit = ("fit", "x.parquet", "--suppress", "speaker", "--preserve", "digit",
           "--method", "mass", "--config", "tiny.yaml")  # fmt: skip
    ran = cli(*fit, "--raw", "mulaw.parquet", "-o", "raw", "--new-key", "key")
    assert ran.code == 0
    assert "made from the features" not in ran.err
    ran = cli(*fit, "-o", "plain", "--key", "key")  # the digest of the input is keyed
    assert "made from the features" in ran.err
    weights = "weights.safetensors"
    assert Path("raw", weights).read_bytes() != Path("plain", weights).read_bytes()
    assert load_bundle("raw").input["sha256"] == load_bundle("plain").input["sha256"]

    table = pq.read_table("mulaw.parquet")
    pq.write_table(table.slice(1), "fewer.parquet")
    pq.write_table(table.take(np.arange(159, -1, -1)), "turned.parquet")
    before = snapshot(media)
    told = cli(*fit, "--raw", "fewer.parquet", "-o", "b").mistake
    assert "fewer.parquet has 159 sounds, x.parquet has 160 records" in told
    told = cli(*fit, "--raw", "turned.parquet", "-o", "b").mistake
    assert "turned.parquet does not give the features of x.parquet" in told
    assert snapshot(media) == before


# --- bare sound that is odd ---


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (pa.array([b"ab", None]), "it is missing (null)"),
        (pa.array([b"ab", b""]), "it has no samples"),
        (pa.array([[0.0], [0.1, float("nan")]]), "it holds NaN or infinite samples"),
    ],
)
def test_a_bad_record_is_skipped_and_listed_and_strict_refuses_it(
    tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch, value: pa.Array, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"audio_8khz": value, "a": ["x", "y"]}), "m.parquet")
    ran = cli("extract", "m.parquet", "-o", "e.parquet", "--json", "-q")
    assert (ran.code, ran.json["records"], ran.json["skipped"]) == (0, 1, 1)
    assert ran.json["errors"] == "e.errors.csv"
    assert Path("e.errors.csv").read_text() == f"file,reason\nrow 1,{told}\n"
    whole = Path("e.parquet").read_bytes()
    refused = cli("extract", "m.parquet", "-o", "e.parquet", "--strict", "-q").mistake
    assert f"row 1 of m.parquet cannot be used: {told}" in refused
    assert Path("e.parquet").read_bytes() == whole


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            pa.array([None, None], pa.binary()),
            "nothing of m.parquet can be used (2 skipped)",
        ),
        (pa.array([[1, 2], [3]], pa.list_(pa.int64())), "holds int64, not sound samples"),
        (pa.array([1.5, 2.5]), "is double; sounds are bytes"),
        (pa.array(["a", "b"]), "a: the file cannot be read: No such file or directory"),
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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("s", "-o", "s"), "s is the input; choose another -o"),
        (("s", "-o", "folder.parquet"), "it is a folder"),
        (("s", "-o", "x.csv"), "cannot hold features in a list column"),
        (("s", "-o", "x.txt"), "the name must end in one of"),
        (("s", "-o", "no/x.parquet"), "folder no does not exist"),
        (("empty", "-o", "x.parquet"), "empty holds no sound files"),
        (("z", "-o", "x.parquet"), "no such file or folder: z"),
        (("s/a.wav", "-o", "x.parquet"), "is one file of media"),
        (("s", "-o", "x.parquet", "--extractor", "pixels"), "s holds no image files"),
        (("s", "-o", "x.parquet", "--extractor", "pixel"), "did you mean 'pixels'?"),
        (("s", "-o", "x.parquet", "--pattern", "{x}"), "'x' is a label of s"),
        (("s", "-o", "x.parquet", "--pattern", "{a}-{b}"), "matches no file of s, e.g. a.wav"),
        (("s", "-o", "x.parquet", "--test", "take>3"), "column 'take' is not in s"),
        (("s", "-o", "x.parquet", "--clips", "10"), "this extractor takes sounds"),
        (("s", "-o", "x.parquet", "--like", "s"), "cannot read s"),
        (("s", "-o", "x.parquet", "--weights", "w.pt"), "has no setting 'weights'"),
        (("s", "-o", "x.parquet", "--column", "c"), "is a folder and has no column 'c'"),
    ],
)
def test_mistakes(
    tmp_path: Path,
    cli: Run,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_wav(Path("s/a.wav"), constant(0.1))
    Path("folder.parquet").mkdir()
    Path("empty").mkdir()
    before = snapshot(tmp_path)
    assert told in cli("extract", *arguments).mistake
    assert snapshot(tmp_path) == before
