"""Public media sets: columns and splits of made-up ones, and what the real files hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_media import make_media
from withhold.core.errors import UserError
from withhold.datasets.media_sets import FIXED, MEDIA, RECORD, public_media
from withhold.datasets.vispr import NAMES as VISPR
from withhold.datasets.worlds.drawn_faces import VALUES
from withhold.datasets.worlds.moving_figures import VALUES as FIGURES
from withhold.media.cutting import decode
from withhold.media.extract_features import plan
from withhold.records.readers import open_media


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_media(tmp_path_factory.mktemp("public"))


@pytest.fixture
def data(source: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WITHHOLD_DATA", str(source))
    return source


LABELS = {
    "audiomnist": {"speaker", "digit", "gender", "accent"},
    "utkface": {"gender", "race", "age"},
    "cmufaces": {"person", "eyes"},
    "lsa64": {"sign", "signer"},
    "drawn-faces": {"person", *VALUES},
    "moving-figures": {"person", *FIGURES},
    "adience": {"file", "identity", "age", "gender", "fold"},
    "celeba": {"file", "identity", "Smiling", "Male", "Eyeglasses"},
    "vispr": {"file", "privacy", *VISPR["vispr-1"]},
    "ucf101": {"file", "action", "group"},
    "hmdb51": {"file", "action", "group"},
    "pa-hmdb51": {"file", "frame", "action", "group", "privacy", *VISPR["pa-hmdb"]},
    "hmdb51-vispr": {"file", "source", "action", "privacy", *VISPR["pa-hmdb"]},
    "p-hvu": {"file", "action", "object", "scene"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MEDIA))
def test_every_set_opens_with_its_labels_a_number_and_a_split(
    data: Path, tmp_path: Path, name: str
) -> None:
    file = public_media(name, tmp_path / "new" / "folder")
    media = open_media(file.path, file.kind, column=file.column)
    assert set(media.schema.names) == LABELS[name] | {RECORD, "split"}
    items = list(media.items())
    assert [item.labels[RECORD] for item in items] == list(range(len(items)))
    assert {item.labels["split"] for item in items} >= {"train", "test"}
    decode(items[-1].content, file.kind)
    before = file.path.read_bytes(), file.path.stat().st_mtime_ns
    again = public_media(name, tmp_path / "new" / "folder").path
    assert (again.read_bytes(), again.stat().st_mtime_ns) == before


def test_takes_are_split_and_counted(data: Path, tmp_path: Path) -> None:
    """Of 8 takes the last two are test, of 5 or 4 the last; there are 8 sounds in each."""
    for most, train, test in ((None, 6, 2), (999, 6, 2), (5 * 8, 4, 1), (1, 3, 1)):
        file = public_media("audiomnist", tmp_path, most=most)
        parts = Counter(item.labels["split"] for item in open_media(file.path, "sound").items())
        assert parts == {"train": 8 * train, "test": 8 * test}


def test_the_fifth_time_is_test(data: Path, tmp_path: Path) -> None:
    file = public_media("lsa64", tmp_path)
    with np.load(file.path) as found:
        parts = Counter(found["split"].tolist())
        assert "repetition" not in found.files
        for part in ("train", "val", "test"):
            pairs = {*zip(found["sign"][found["split"] == part], found["signer"], strict=False)}
            assert len(pairs) >= 2
    assert parts == {"train": 24, "val": 8, "test": 8}


@pytest.mark.parametrize("name", ["utkface", "cmufaces", "lsa64"])
def test_most_is_the_most(data: Path, tmp_path: Path, name: str) -> None:
    file = public_media(name, tmp_path, most=30)
    assert len(open_media(file.path, file.kind, column=file.column)) == 30
    everything = public_media(name, tmp_path / "all", most=10**6)
    assert len(open_media(everything.path, file.kind, column=file.column)) > 30


def test_their_features_keep_number_and_split(data: Path, tmp_path: Path) -> None:
    file = public_media("cmufaces", tmp_path)
    job = plan(open_media(file.path, file.kind, column=file.column), extractor="pixels")
    assert {RECORD, "split", "person", "eyes"} <= set(job.collection.schema.names)


def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(tmp_path))
    with pytest.raises(UserError, match="no public media set 'utkfaces'; did you mean 'utkface'"):
        public_media("utkfaces", tmp_path / "out")
    read = ("celeba", "adience", "vispr", "ucf101", "hmdb51", "pa-hmdb51", "hmdb51-vispr", "p-hvu")
    for name in (*FIXED, *read):
        with pytest.raises(UserError, match=f"cannot read {tmp_path}.*: there is no such file"):
            public_media(name, tmp_path / "out")
    for file in ("utkface_12000_64px.parquet", "cmufaces_30x32_u8.npz"):
        (tmp_path / file).write_bytes(b"PK\x03\x04 nothing of the kind")
    for name in ("utkface", "cmufaces"):
        with pytest.raises(UserError, match=f"cannot read {tmp_path}"):
            public_media(name, tmp_path / "out")


def test_drawn_faces_need_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WITHHOLD_DATA", raising=False)
    settings = {"side": 48, "people": 3, "correlation": {"gender, lipstick": 1.0}}
    file = public_media("drawn-faces", tmp_path, most=40, settings=settings)
    with np.load(file.path) as found:
        assert found["X"].shape == (40, 48, 48, 3)
        assert len({*found["person"].tolist()}) == 3
        assert ((found["gender"] == "female") == (found["lipstick"] == "yes")).all()


def test_moving_figures_need_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WITHHOLD_DATA", raising=False)
    settings = {
        "side": 40, "frames": 12, "people": 5, "split_by": "person",
        "correlation": {"build, hat": -1.0}, "shares": {"action": {"walk": 0.5, "jump": 0.5}},
    }  # fmt: skip
    file = public_media("moving-figures", tmp_path, most=40, settings=settings)
    assert file.kind == "clip"
    with np.load(file.path) as found:
        assert found["X"].shape == (40, 12, 40, 40, 3)
        assert {*found["action"].tolist()} == {"walk", "jump"}
        assert ((found["build"] == "slim") == (found["hat"] == "yes")).all()
        parts = {*zip(found["person"].tolist(), found["split"].tolist(), strict=True)}
    assert len(parts) == 5


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("drawn-faces", {"sides": 3}, "has no setting 'sides'; did you mean 'side'"),
        ("drawn-faces", {"side": 3}, "setting 'side' of media set 'drawn-faces': .*equal to 32"),
        ("drawn-faces", {"correlation": {"gender": 1}}, "'gender': name two attributes"),
        ("moving-figures", {"frames": 4}, "setting 'frames' of media set 'moving-figures'"),
        ("moving-figures", {"split_by": "clip"}, "setting 'split_by'.*'record' or 'person'"),
        ("moving-figures", {"correlation": {"hat": 1}}, "'hat': name two .*such as build,hat"),
        ("moving-figures", {"shares": {"hut": {"yes": 1}}}, "no attribute 'hut'"),
        ("utkface", {"side": 3}, "media set 'utkface' has no settings; leave out side"),
    ],
)
def test_wrong_settings(tmp_path: Path, name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        public_media(name, tmp_path, settings=settings)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "most", "records", "parts"),
    [
        ("audiomnist", 2400, 2400, {"train": 1800, "test": 600}),
        ("utkface", 600, 600, {"train": 360, "val": 120, "test": 120}),
        ("cmufaces", None, 624, None),
        ("lsa64", None, 500, {"train": 300, "val": 100, "test": 100}),
    ],
)
def test_the_real_ones(
    realdata: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    most: int | None,
    records: int,
    parts: dict[str, int] | None,
) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(realdata))
    file = public_media(name, tmp_path, most=most)
    media = open_media(file.path, file.kind, column=file.column)
    table = media.labels()
    assert table is not None
    assert len(media) == table.num_rows == records
    found = Counter(table["split"].to_pylist())
    assert parts is None or found == parts
    for attribute in LABELS[name]:
        train = {*table.filter(np.asarray(table["split"]) == "train")[attribute].to_pylist()}
        assert {*table[attribute].to_pylist()} == train
    decode(next(iter(media.items())).content, file.kind)
