"""`fit` and `transform` of media by the command line: what is written, said and refused."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from media_support import write_wav
from release_support import below, hum, noisy, people, picture_bytes, write_picture
from withhold.bundle.bundle import load_bundle
from withhold.media.decode.clips import decode_clip
from withhold.media.decode.encoded_clips import encode_clip
from withhold.records.samples import Clip
from withhold.records.writers.row_list import read_rows

from .conftest import Run, snapshot

PATTERN = ("--pattern", "{person}_{pose}.png")


@pytest.fixture
def spot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder, the current one, with `faces` and `voices`."""
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "faces")
    for i in range(3):
        write_wav(tmp_path / "voices" / f"anna_{i}.wav", hum(i))
    return tmp_path


@pytest.fixture
def blur(spot: Path, cli: Run) -> Path:
    """A bundle for `faces`."""
    fit = ("fit", "faces", *PATTERN, "--method", "blur", "--suppress", "person", "-o", "blur")
    assert cli(*fit, "-q").code == 0
    return spot / "blur"


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_way_from_a_folder_to_its_release(spot: Path, cli: Run) -> None:
    ran = cli("fit", "faces", *PATTERN, "--method", "blur", "--suppress", "person", "-o", "b")
    assert (ran.code, ran.err) == (0, "")
    first, second = ran.out.splitlines()
    assert first == "b: blur for 6 images; next: withhold transform b faces -o RELEASE"
    assert second.startswith("keep private: key")
    (spot / "faces" / "cut_1.png").write_bytes(b"")
    # Labels are read as in the fit; of six pictures nothing can be measured.
    ran = cli("transform", "b", "faces", "-o", "out", "--keep", "pose")
    assert ran.code == 0
    assert ran.out == (
        "out: 6 images with pose\n"
        "left out:\n"
        "  file    names of files or paths\n"
        "  person  suppressed\n"
        "--keep COLUMN releases one anyway\n"
        "out.names.csv: which file became which; keep it private\n"
        "1 could not be released; see out.left-out.csv\n"
    )
    assert [list(row) for row in rows("out/manifest.csv")] == [["path", "pose"]] * 6
    assert rows("out.left-out.csv") == [{"file": "cut_1.png", "reason": "the file is empty"}]
    assert sorted(p.name for p in spot.iterdir()) == [
        "b", "faces", "out", "out.left-out.csv", "out.names.csv", "voices",
    ]  # fmt: skip


def test_as_json(blur: Path, cli: Run) -> None:
    """Where all is well, no list of what was left out stays from an earlier run."""
    Path("out.left-out.csv").write_text("of an earlier run")
    ran = cli("transform", "blur", "faces", *PATTERN, "-o", "out", "--json", "-q", "--drop", "pose")
    assert (ran.code, ran.err) == (0, "")
    expected = {
        "release": "out", "records": 6, "dropped": ["file", "person", "pose"],
        "skipped": 0, "left_out": None, "names": "out.names.csv", "tells": {}, "unchecked": [],
        "columns": [], "kept_by_name": [], "same_order": False, "rows": None, "certificate": None,
    }  # fmt: skip
    assert {k: ran.json[k] for k in expected} == expected
    assert ran.json["left_out_because"]["person"] == "suppressed"
    assert list(rows("out/manifest.csv")[0]) == ["path"]
    assert not Path("out.left-out.csv").exists()
    fit = ("fit", "faces", *PATTERN, "--method", "blur", "--suppress", "person", "--seed", "4")
    ran = cli(*fit, "-o", "other", "--json")
    assert {k: ran.json[k] for k in ("bundle", "method", "kind", "seed")} == {
        "bundle": "other", "method": "blur", "kind": "image", "seed": 4,
    }  # fmt: skip


def test_labels_and_names_stay_where_asked(blur: Path, cli: Run) -> None:
    keep = ("--keep-labels", "--keep-names", "--keep", "pose")
    ran = cli("transform", "blur", "faces", *PATTERN, "-o", "out", *keep)
    assert (ran.code, ran.out) == (0, "out: 6 images with person, pose\n")
    assert "kept by name, even if they reveal something: file, person, pose" in ran.err
    assert list(rows("out/manifest.csv")[0]) == ["path", "person", "pose"]
    assert {p.name for p in Path("faces").iterdir()} < set(below(Path("out")))
    assert not Path("out.names.csv").exists()


def test_labels_that_give_the_suppressed_away_are_named(spot: Path, cli: Run) -> None:
    """`alias` is the person, `path_of` names it; a label may be called x."""
    n = 160
    media = [picture_bytes(noisy(i)) for i in range(n)]
    person = [f"p{i % 4}" for i in range(n)]
    table: dict[str, Any] = {"png": media, "person": person, "alias": [p[::-1] for p in person]}
    table |= {"path_of": [f"{p}/{i}" for i, p in enumerate(person)]}
    table |= {"x": [i // 4 % 2 for i in range(n)], "tags": [["a"], ["a", "b"]] * (n // 2)}
    table |= {"raw": [b"?", None] * (n // 2), "when": pa.array(range(n), pa.timestamp("ns"))}
    pq.write_table(pa.table(table), "in.parquet")
    assert cli("fit", "in.parquet", "--method", "blur", "--suppress", "person", "-o", "b").code == 0
    ran = cli("transform", "b", "in.parquet", "-o", "out.parquet")
    for line in (
        "person   suppressed",
        "alias    copy of 'person', which is suppressed",
        "path_of  names of files or paths",
        "tags     reveals 'person'",
        "raw      binary payload",
    ):
        assert line in ran.out
    assert pq.read_table("out.parquet").column_names[:2] == ["png", "x"]
    drop = ("--drop", "alias,path_of,raw,when,tags", "--json")
    ran = cli("transform", "b", "in.parquet", "-o", "out.parquet", *drop)
    assert (ran.json["tells"], ran.json["unchecked"], ran.err) == ({}, [], "")
    assert ran.json["columns"] == ["x"]


def test_columns_that_no_fit_has_seen_and_names_of_files_stay_in_the_house(
    spot: Path, cli: Run
) -> None:
    media = [picture_bytes(noisy(i)) for i in range(4)]
    table = pa.table({"png": media, "who": list("aabb"), "n": range(4), "filename": list("wxyz")})
    pq.write_table(table, "in.parquet")
    assert cli("fit", "in.parquet", "--method", "blur", "--suppress", "who", "-o", "b").code == 0
    pq.write_table(table.append_column("alias", table["who"]), "more.parquet")
    assert cli("transform", "b", "more.parquet", "-o", "out.parquet", "-q").code == 0
    assert pq.read_table("out.parquet").column_names == ["png"]
    keep = ("--keep-labels", "--keep-names", "--keep", "n", "-q")
    assert cli("transform", "b", "more.parquet", "-o", "out.parquet", *keep).code == 0
    assert pq.read_table("out.parquet").column_names == [*table.column_names, "alias"]


def test_a_fit_that_is_there_stays_and_another_does_not_replace_it(blur: Path, cli: Run) -> None:
    fit = ("fit", "faces", *PATTERN, "--suppress", "person", "-o", "blur", "-q", "--method")
    before = snapshot(blur)
    assert cli(*fit, "blur").code == 0
    assert snapshot(blur) == before
    for more in (["pixelate"], ["blur", "--seed", "1"], ["blur", "--preset", "adience-weak"]):
        assert "holds a bundle of another fit" in cli(*fit, *more).mistake
    assert snapshot(blur) == before
    assert cli(*fit, "pixelate", "--overwrite").code == 0
    assert load_bundle(blur).method == "pixelate"


FIT = ("fit", "faces", *PATTERN, "-o", "b", "--suppress", "person", "--method")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*FIT, "blurr"), "there is no method 'blurr'; did you mean 'blur'? (for features: "),
        ((*FIT, "mass"), "faces is a folder of media, and method 'mass' takes features; make"),
        ((*FIT, "mask"), "method 'mask' is for sounds; faces holds images"),
        ((*FIT, "blur", "--preset", "x"), "method 'blur' has no preset 'x' (presets: adience-weak"),
        ((*FIT, "blur", "--budget", "x"), "method 'blur' has no setting 'budget'"),
        ((*FIT, "blur", "--suppress", "persn"), "attribute 'persn' is not in faces; did you mean"),
        (("fit", "voices", "-o", "b", "--suppress", "x", "--method", "blur"),
         "method 'blur' is for images and clips; voices holds sounds"),
        (("fit", "nowhere", "-o", "b", "--suppress", "x", "--method", "blur"),
         "no such file or folder: nowhere"),
        (("fit", "faces/anna_0.png", "-o", "b", "--suppress", "x", "--method", "blur"),
         "is one file of media; name its folder"),
    ],
    ids=range(9),
)  # fmt: skip
def test_mistakes_of_a_fit(spot: Path, cli: Run, arguments: tuple[str, ...], told: str) -> None:
    before = snapshot(spot)
    assert cli(*arguments).mistake.startswith(told) or told in cli(*arguments).mistake
    assert snapshot(spot) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("faces", "-o", "faces"), "faces is the input; choose another -o"),
        (("faces", *PATTERN, "-o", "faces/out"), "faces/out is inside faces"),
        (("faces", *PATTERN, "-o", "full"), "full exists and is not empty; choose another -o"),
        (("faces", *PATTERN, "-o", "blur"), "blur exists and is not empty"),
        (("faces", *PATTERN, "-o", "full/file"), "full/file is a file"),
        (("faces", *PATTERN, "-o", "out.parquet"), "so its release is a folder"),
        (("faces", "-o", "no/out"), "folder no does not exist"),
        (("faces", *PATTERN, "-o", "."), "exists and is not empty"),
        (("voices", "-o", "out"), "voices holds no image files"),
        (("features.parquet", *PATTERN, "-o", "r.parquet"), "--pattern reads file names"),
        (("features.parquet", "-o", "out.parquet"), "cannot find the column with the images"),
        (("faces", *PATTERN, "-o", "out", "--drop", "pos"), "column 'pos' is not in faces; did"),
        (("faces", "-o", "out", "--features", "x"), "changes media; --features does not apply"),
        (("faces", "-o", "out", "--as", "index"), "changes media; --as does not apply to it"),
        (("bad", *PATTERN, "-o", "out"), "nothing of bad can be released: a_1.png: not a picture"),
        (
            ("bad", *PATTERN, "-o", "out", "--strict"),
            "a_1.png of bad cannot be released: not a pic",
        ),
        (("faces", "--pattern", "{who}_{pose}", "-o", "out"), "has no column 'person', which the"),
    ],
    ids=range(17),
)
def test_mistakes_of_a_release(blur: Path, cli: Run, arguments: tuple[str, ...], told: str) -> None:
    """One line, and nothing is written."""
    (blur.parent / "full").mkdir()
    (blur.parent / "full" / "file").write_text("mine")
    (blur.parent / "bad").mkdir()
    (blur.parent / "bad" / "a_1.png").write_text("no picture")
    pq.write_table(pa.table({"x": [[1.0], [2.0]], "person": ["a", "b"]}), "features.parquet")
    before = snapshot(blur.parent)
    assert told in cli("transform", "blur", *arguments, "-q").mistake
    assert snapshot(blur.parent) == before


def test_a_bundle_that_was_changed(blur: Path, cli: Run) -> None:
    text = (blur / "bundle.json").read_text()
    (blur / "bundle.json").write_text(text.replace("blur", "mask"))
    told = cli("transform", "blur", "faces", "-o", "out").mistake
    assert "bundle.json is not what was written" in told


def test_a_bundle_for_features_is_given_media(place: Path, cli: Run) -> None:
    people(place / "faces")
    told = cli("transform", "bundle", "faces", "-o", "out.parquet").mistake
    assert told.startswith("faces is a folder of media, and bundle changes features; make them")
    told = cli("transform", "bundle", "data.parquet", "-o", "r.parquet", "--keep-names").mistake
    assert told == "bundle bundle changes features; --keep-names does not apply to it"


def test_here_is_a_place_too(blur: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (blur.parent / "empty").mkdir()
    monkeypatch.chdir(blur.parent / "empty")
    ran = cli("transform", "../blur", "../faces", *PATTERN, "-o", ".", "-q")
    assert (ran.code, ran.err) == (0, "")
    assert (blur.parent / "empty" / "manifest.csv").is_file()
    assert (blur.parent / "empty.names.csv").is_file()


CLIP = Clip(np.stack([noisy(i, 16, 16) for i in range(6)]), 10.0)


@pytest.mark.parametrize("form", ["folder", "paths", "bytes", "npz"])
def test_clips_are_told_from_images(spot: Path, cli: Run, form: str) -> None:
    """A table of paths or bytes opens as images just as well."""
    data, table = encode_clip(CLIP, ".mp4"), "videos.parquet"
    write_picture(spot / "clips" / "poster.png", 1)
    (spot / "clips" / "a.mp4").write_bytes(data)
    (spot / "clips" / "poster.png").unlink()
    if form == "paths":
        pq.write_table(pa.table({"path": [None, "clips/a.mp4"], "n": [1, 2]}), table)
    elif form == "bytes":
        pq.write_table(pa.table({"bytes": [b"broken", data], "n": [1, 2]}), table)
    else:
        table = "clips.npz" if form == "npz" else "clips"
        np.savez("clips.npz", X=CLIP.frames[None])
    suppress = "n" if form in ("paths", "bytes") else "x"
    ran = cli("fit", table, "--method", "blur", "--suppress", suppress, "-o", "b")
    assert ran.code == 0, ran.err
    assert load_bundle("b").kind == "clip"
    out = {"bytes": "out.parquet", "npz": "out.npz"}.get(form, "out")
    ran = cli("transform", "b", table, "-o", out, "-q", "--json")
    assert ran.json["records"] == 1
    assert ran.json["skipped"] == (1 if form in ("paths", "bytes") else 0)
    if form in ("folder", "paths"):
        found = decode_clip(next(Path("out").glob("*.mp4")))
        assert (found.frames.shape, found.rate) == (CLIP.frames.shape, 10)


def test_a_table_of_pictures(spot: Path, cli: Run) -> None:
    media: list[Any] = [picture_bytes(noisy(i)) for i in range(4)]
    table = pa.table({"png": pa.array([*media, None, b"?"]), "who": list("aabbcc"), "n": range(6)})
    pq.write_table(table, "in.parquet")
    assert cli("fit", "in.parquet", "--method", "blur", "--suppress", "who", "-o", "b").code == 0
    ran = cli("transform", "b", "in.parquet", "-o", "out.parquet", "--keep", "n")
    assert ran.out == (
        "out.parquet: 4 images with n; rows in a random order\n"
        "left out:\n"
        "  who  suppressed\n"
        "out.rows.csv: which row became which; keep it private\n"
        "2 could not be released; see out.parquet.left-out.csv\n"
    )
    assert read_rows(Path("out.rows.csv")).tolist() == pq.read_table("out.parquet")["n"].to_pylist()
    assert rows("out.parquet.left-out.csv") == [
        {"file": "row 4", "reason": "it is missing (null)"},
        {"file": "row 5", "reason": "not a picture, or its header is damaged"},
    ]
    assert pq.read_table("out.parquet").column_names == ["png", "n"]
    told = cli("transform", "b", "in.parquet", "-o", "in.parquet").mistake
    assert told == "in.parquet is the input; choose another -o"
