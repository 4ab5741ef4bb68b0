"""Where released media go: names that collide or lead out, tables and arrays of the same form."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from release_support import below, bundle_of, hum, noisy, people, picture_bytes, write_picture
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media.folder_sink import DATE, FolderSink, dealt, names_path
from withhold.media.sinks import mulaw, open_media_sink
from withhold.records.plain import plain_schema
from withhold.records.readers import Samples, open_media
from withhold.records.readers.media_table import MULAW
from withhold.records.samples import Picture, Sound
from withhold.release.media_stream import release_media
from withhold.release.wishes import Wishes

KEY = bytes(range(32))


def release(media: Path, target: Path, method: str = "blur", **more: Any) -> int:
    """Release under the usual settings; `kind` and where the media are go to the bundle."""
    names = ("keep_names", "strict")
    how = {k: more.pop(k) for k in names if k in more}
    drop = more.pop("drop", ())
    bundle, collection = bundle_of(media, method, **({"suppress": "secret"} | more))
    # These tests are about sinks: labels stay unless dropped, in their order.
    keep = [n for n in collection.schema.names if n not in drop]
    wishes = Wishes.of(keep=keep, drop=drop, keep_labels=True, same_order=True)
    return release_media(
        bundle, collection, target, wishes=wishes, progress=Silent(), **how
    ).records


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_numbers_are_dealt_out_by_the_key() -> None:
    """The order of names tells who belongs together."""
    some, others = (Samples([f"{i} {n}" for n in range(50)], pa.table({}), "text") for i in "ab")
    one = dealt(some, KEY)
    assert sorted(one) == list(range(50))
    assert one.tolist() == dealt(some, KEY).tolist()
    assert one.tolist() != dealt(some, bytes(32)).tolist()
    assert one.tolist() != dealt(others, KEY).tolist()
    assert one.tolist() != list(range(50))


def test_a_folder_has_numbers_labels_and_one_date(tmp_path: Path) -> None:
    media = people(tmp_path / "faces")
    bundle, collection = bundle_of(media, pattern="{person}_{pose}.png")
    out = tmp_path / "out"
    wishes = Wishes.of(keep=["pose"])  # of six pictures nothing can be measured
    done = release_media(bundle, collection, out, wishes=wishes, progress=Silent())
    assert (done.records, done.skipped) == (6, ())
    found = rows(out / "manifest.csv")
    assert list(found[0]) == ["path", "pose"]
    assert [row["path"] for row in found] == [f"{i:08d}.png" for i in range(6)]
    assert set(below(out)) == {"manifest.csv", *(row["path"] for row in found)}
    assert {p.stat().st_mtime for p in (out, *out.iterdir())} == {DATE}
    names = rows(names_path(out))
    assert sorted(row["original"] for row in names) == sorted(p.name for p in media.iterdir())
    pose = {row["path"]: row["pose"] for row in found}
    assert all(row["original"][-5] == pose[row["released"]] for row in names)
    assert [row["original"] for row in names] != sorted(row["original"] for row in names)
    assert b"anna" not in b"".join(below(out).values())


NAMES = ["a.jpg", "a.png", "a.b.png", "b/a.png", "b/[x]*?.png", "b/c/ü n.png", "-.png", "x..png"]


def test_kept_names(tmp_path: Path) -> None:
    """Also those that differ in the suffix alone, begin others, or look like patterns."""
    for seed, name in enumerate(NAMES):
        write_picture(tmp_path / "in" / name, seed)
    assert release(tmp_path / "in", tmp_path / "out", keep_names=True, config={"kernel": 1}) == 8
    found = below(tmp_path / "out")
    assert set(found) == {*NAMES, "manifest.csv"}
    assert len(set(found.values())) == len(found)
    for seed, name in enumerate(NAMES):
        if not name.endswith("jpg"):  # a kernel of one pixel changes nothing
            assert found[name] == picture_bytes(noisy(seed))
    assert {row["path"] for row in rows(tmp_path / "out" / "manifest.csv")} == set(NAMES)
    assert not names_path(tmp_path / "out").exists()


@pytest.mark.parametrize("names", [("a.gif", "a.png"), ("a.JPG", "a.jpg"), ("a.jfif", "a.jpg")])
def test_kept_names_that_would_become_one(tmp_path: Path, names: tuple[str, str]) -> None:
    for seed, name in enumerate(names):
        write_picture(tmp_path / "in" / name, seed, "PNG")
    told = rf"{names[0]} and {names[1]} would both be called a\.\w+ in the release"
    with pytest.raises(UserError, match=told):
        release(tmp_path / "in", tmp_path / "out", keep_names=True)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
    assert release(tmp_path / "in", tmp_path / "out") == 2
    assert len(below(tmp_path / "out")) == 3


@pytest.mark.parametrize("name", ["../x.png", "/x.png", "b/../../x.png", "..\\x.png"])
def test_kept_names_that_lead_out(tmp_path: Path, name: str) -> None:
    faces = open_media(people(tmp_path / "in"), "image")
    sink = FolderSink(tmp_path / "out", {}, pa.table({}), faces, key=KEY, keep_names=True)
    item = next(faces.items())
    with pytest.raises(UserError, match="leads out of the release; leave out --keep-names"):
        sink.released(0, type(item)(name, item.content))


def test_a_manifest_may_name_one_file_twice_and_a_column_path(tmp_path: Path) -> None:
    """`path` of the manifest in a release is that of the release, whatever the table says."""
    write_picture(tmp_path / "faces" / "anna.png", 1)
    lines = "image,path,file,pose\nfaces/anna.png,x/anna,anna,1\nfaces/anna.png,x/anna,anna,2\n"
    (tmp_path / "table.csv").write_text(lines)
    table = tmp_path / "table.csv"
    assert release(table, tmp_path / "out", column="image", suppress="pose") == 2
    found = rows(tmp_path / "out" / "manifest.csv")
    assert [row["path"] for row in found] == ["00000000.png", "00000001.png"]
    assert list(found[0]) == ["path", "pose"]
    assert "anna" not in (tmp_path / "out" / "manifest.csv").read_text()
    with pytest.raises(UserError, match="would both be called"):
        release(table, tmp_path / "other", column="image", suppress="pose", keep_names=True)


def test_samples_in_memory_become_numbered_files(tmp_path: Path) -> None:
    media = Samples([Picture(noisy(i)) for i in range(3)], pa.table({"n": [5, 6, 7]}), "image")
    bundle, data = bundle_of(media, suppress="n")
    out = tmp_path / "out"
    release_media(bundle, data, out, keep_names=True, progress=Silent())
    assert set(below(out)) == {"manifest.csv", *(f"{i:08d}.png" for i in range(3))}


def test_places_that_are_refused(tmp_path: Path) -> None:
    media = people(tmp_path / "in")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("kept")
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to(media)
    for target, told in [
        ("full", "exists and is not empty"),
        ("file", "is a file; a release of files is a folder"),
        ("in", "is inside"),
        ("in/out", "is inside"),
        ("link/out", "is inside"),
        ("out.parquet", "has its media as files"),
    ]:
        before = below(tmp_path)
        with pytest.raises(UserError, match=told):
            release(media, tmp_path / target)
        assert below(tmp_path) == before


def test_a_link_to_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    assert release(people(tmp_path / "in"), tmp_path / "out") == 6
    assert (tmp_path / "out").is_symlink()
    assert len(below(tmp_path / "disk")) == 7
    assert names_path(tmp_path / "out").is_file()


WAVES = [hum(i, 300 + i) for i in range(4)]
COLUMNS: dict[str, Any] = {
    "int16": pa.array([(w * 32768).astype(np.int16) for w in WAVES], pa.list_(pa.int16())),
    "float": pa.array(WAVES, pa.list_(pa.float32())),
    "half": pa.array([w.astype(np.float16) for w in WAVES], pa.list_(pa.float16())),
    "double": pa.array([w.astype(np.float64) for w in WAVES], pa.large_list(pa.float64())),
    "fixed": pa.array([w[:300] for w in WAVES], pa.list_(pa.float32(), 300)),
    "mulaw": pa.array([mulaw(Sound(w, 8000)) for w in WAVES], pa.binary()),
}


def table_of(column: Any) -> pa.Table:
    """Media between labels of many types; the last is missing."""
    media = column.take(pa.array([0, 1, 2, 3, None]))
    at = pa.array([0, 1000, 2000, 3000, 4000], pa.timestamp("ns"))  # no finer than is held
    return pa.table(
        {
            "secret": [1, 2, 3, 4, 5],
            "audio_mulaw" if pa.types.is_binary(column.type) else "audio": media,
            "n": pa.array([0, 1, None, 3, 4], pa.uint8()),
            "word": pa.array(list("aabba")).dictionary_encode(),
            "when": at,
            "tags": [["x"], [], None, ["y", "z"], []],
        }
    ).replace_schema_metadata({"pandas": "names of people"})


@pytest.mark.parametrize("form", list(COLUMNS))
def test_tables_of_samples(tmp_path: Path, form: str) -> None:
    """Beyond the masked stretch every sample is the very one; the rest is as it was but for
    what is suppressed, and the row without a sound."""
    table = table_of(COLUMNS[form])
    pq.write_table(table, tmp_path / "in.parquet")
    how: dict[str, Any] = {"kind": "sound", "rate": 8000, "drop": ("secret",)}
    assert release(tmp_path / "in.parquet", tmp_path / "out.parquet", "mask", **how) == 4
    found, wanted = pq.read_table(tmp_path / "out.parquet"), table.drop_columns("secret")
    assert found.schema.equals(plain_schema(wanted.schema), check_metadata=False)
    assert found.schema.metadata is None
    others = ["n", "when", "tags"]
    assert found.select(others).to_pylist() == wanted.select(others).slice(0, 4).to_pylist()
    assert found["word"].to_pylist() == list("aabb")
    name = found.column_names[0]
    for old, new in zip(wanted[name].to_pylist(), found[name].to_pylist(), strict=False):
        one, two = (np.frombuffer(v, np.uint8) if form == "mulaw" else v for v in (old, new))
        same = np.asarray(one) == np.asarray(two)
        assert len(one) == len(two)
        assert 0.4 < same.mean() < 0.6
        assert same[0] or same[-1]


def test_mulaw_is_the_nearest() -> None:
    assert list(mulaw(Sound(MULAW, 8000))) == list(range(256))
    assert list(mulaw(Sound(np.float32([-7, 7]), 8000))) == [0, 255]
    wave = hum(3, 5000)
    error = np.abs(MULAW[list(mulaw(Sound(wave, 8000)))] - wave)
    assert (error <= np.abs(MULAW[None, :] - wave[:, None]).min(axis=1) + 1e-7).all()


def test_tables_of_bytes_get_one_format_for_all(tmp_path: Path) -> None:
    forms = ["JPEG", "PNG", "JPEG", "BMP"]
    media = [picture_bytes(noisy(i), form) for i, form in enumerate(forms)]
    table = pa.table({"jpeg": pa.array([*media, b"junk", b""], pa.large_binary()), "n": range(6)})
    pq.write_table(table, tmp_path / "in.parquet")
    assert release(tmp_path / "in.parquet", tmp_path / "out.parquet", suppress="n") == 4
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["n"].to_pylist() == [0, 1, 2, 3]
    assert found.schema.field("jpeg").type == pa.large_binary()
    from PIL import Image

    kinds = [Image.open(io.BytesIO(v)).format for v in found["jpeg"].to_pylist()]
    assert kinds == ["JPEG"] * 4  # which of them was a PNG may tell of people
    assert not {*media} & {*found["jpeg"].to_pylist()}


@pytest.mark.parametrize("shape", [(4, 9, 8), (4, 9, 8, 3), (4, 5, 9, 8, 3)])
def test_arrays(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Arrays called `file`, of small types, and of other lengths."""
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    labels: dict[str, Any] = {"secret": np.arange(4), "small": np.arange(4, dtype=np.int8)}
    labels |= {"name": np.array(["a", "bb", "c", "d"]), "half": np.zeros(4, np.float32)}
    with (tmp_path / "in.npz").open("wb") as opened:
        np.savez(opened, X=pixels, other=np.zeros(9), **labels)
    kind = "clip" if len(shape) == 5 else "image"
    how: dict[str, Any] = {"kind": kind, "drop": ("secret",), "config": {"kernel": 3}}
    outs = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for out in outs:
        assert release(tmp_path / "in.npz", out, **how) == 4
    assert outs[0].read_bytes() == outs[1].read_bytes()
    with np.load(outs[0]) as found:
        assert found.files == ["X", "small", "name", "half"]
        assert (found["X"].shape, found["X"].dtype) == (shape, np.uint8)
        assert (found["X"] != pixels).mean() > 0.5
        for name in ("small", "name", "half"):
            assert found[name].dtype == labels[name].dtype
            np.testing.assert_array_equal(found[name], labels[name])


def test_an_array_called_file(tmp_path: Path) -> None:
    from withhold.media.sinks import _npz

    data = _npz({"X": np.zeros((2, 4, 4), np.uint8), "file": np.array(["a", "b"])})
    (tmp_path / "in.npz").write_bytes(data)
    assert release(tmp_path / "in.npz", tmp_path / "out.npz") == 2
    with np.load(tmp_path / "out.npz") as found:
        assert found["file"].tolist() == ["a", "b"]


def test_another_suffix_than_the_original_has(tmp_path: Path) -> None:
    pq.write_table(pa.table({"png": [picture_bytes(noisy(0))]}), tmp_path / "in.parquet")
    np.savez(tmp_path / "in.npz", X=noisy(0)[None])
    for media, out, told in [
        ("in.parquet", "out", "name it .parquet"),
        ("in.parquet", "out.csv", "name it .parquet"),
        ("in.npz", "out.parquet", "name it .npz"),
    ]:
        collection = open_media(tmp_path / media, "image")
        with pytest.raises(UserError, match=told):
            open_media_sink(collection, tmp_path / out, {}, pa.table({}))
