"""CelebA's layout, with drawn faces in the place of its images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from face_folders import make_celeba
from withhold.core.errors import UserError
from withhold.datasets.celeba import read_celeba
from withhold.datasets.media_sets import RECORD, public_media
from withhold.datasets.sized_pictures import square
from withhold.media.cutting import decode
from withhold.records.readers import open_media
from withhold.records.samples import BadMedia, Picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_celeba(tmp_path / "celeba")
    return tmp_path / "celeba"


@pytest.mark.parametrize("csv", [False, True])
def test_labels_and_official_split(tmp_path: Path, csv: bool) -> None:
    drawn = make_celeba(tmp_path / "celeba", csv=csv)
    data = read_celeba(tmp_path / "celeba")
    table, truth = data.table, drawn.table
    assert table["Smiling"].to_pylist() == truth["smile"].to_pylist()
    male = ["yes" if g == "male" else "no" for g in truth["gender"].to_pylist()]
    assert table["Male"].to_pylist() == male
    assert table["split"].to_pylist() == truth["split"].to_pylist()
    assert ("identity" in table.column_names) == (not csv)
    if not csv:
        assert table["identity"].to_pylist() == [p[1:] for p in truth["person"].to_pylist()]
    assert table["file"].to_pylist()[:2] == ["000001", "000002"]
    assert len(data.part("test")) == 8


def test_nothing_is_read_before_it_is_needed(folder: Path) -> None:
    (folder / "img_align_celeba" / "000007.jpg").write_bytes(b"damaged")
    data = read_celeba(folder, side=32)
    assert data.media is not None
    contents = [item.content for item in data.media.items()]
    bad = [i for i, c in enumerate(contents) if isinstance(c, BadMedia)]
    assert bad == [6]
    shapes = {c.pixels.shape for c in contents if isinstance(c, Picture)}
    assert shapes == {(32, 32, 3)}


def test_the_whole_image_or_its_centre() -> None:
    pixels = np.zeros((8, 4, 3), np.uint8)
    pixels[2:6] = 200
    assert (square(pixels, 4, "centre") == 200).all()
    assert square(pixels, 4, "whole")[0].max() < 100
    wide = np.ascontiguousarray(pixels.transpose(1, 0, 2))
    assert (square(wide, 2, "centre") == 200).all()


def test_a_media_set(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(tmp_path))
    file = public_media("celeba", tmp_path / "out", settings={"side": 32, "crop": "centre"})
    media = open_media(file.path, "image", column=file.column)
    items = list(media.items())
    original = read_celeba(folder, side=32, crop="centre")
    assert original.media is not None
    for item, other in zip(items, original.media.items(), strict=True):
        sample = decode(item.content, "image")
        assert isinstance(sample, Picture)
        assert isinstance(other.content, Picture)
        assert (sample.pixels == other.content.pixels).all()
        assert item.labels == {**other.labels, RECORD: item.labels[RECORD]}
    written = file.path.stat().st_mtime_ns
    assert (
        public_media("celeba", tmp_path / "out", settings={"side": 32, "crop": "centre"})
        .path.stat()
        .st_mtime_ns
        == written
    )
    public_media("celeba", tmp_path / "out", settings={"side": 32, "crop": "whole"})
    assert file.path.stat().st_mtime_ns != written
    small = public_media("celeba", tmp_path / "few", most=7, settings={"folder": str(folder)})
    assert pq.read_metadata(small.path).num_rows == 7


def edit(path: Path, line: int, old: str, new: str) -> None:
    lines = path.read_text().splitlines(keepends=True)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("".join(lines))


@pytest.mark.parametrize(
    ("name", "line", "old", "new", "said"),
    [
        ("list_attr_celeba.txt", 1, "40", "41", "line 1: says 41 images, but 40 are listed"),
        ("list_attr_celeba.txt", 1, "40", "names", "line 1: expected the number of images"),
        ("list_attr_celeba.txt", 5, "1", "1  1", "line 5: expected a file and 3 values"),
        ("list_attr_celeba.txt", 4, "000002", "000001", "line 4: 000001.jpg is listed twice"),
        ("list_attr_celeba.txt", 6, "000004", "900004", "line 6: the image .*900004.jpg is not"),
        ("list_eval_partition.txt", 3, ".jpg ", ".jpg 7", "line 3: a part is 0, 1 or 2, not 7"),
        ("list_eval_partition.txt", 3, "000003", "900003", "line 5: 000003.jpg has no part"),
        ("identity_CelebA.txt", 2, ".jpg ", ".jpg x", "line 2: expected a file and a number"),
    ],
)
def test_errors_name_the_line(
    folder: Path, name: str, line: int, old: str, new: str, said: str
) -> None:
    edit(folder / name, line, old, new)
    with pytest.raises(UserError, match=said):
        read_celeba(folder)


def test_a_value_that_is_neither_yes_nor_no(folder: Path) -> None:
    path = folder / "list_attr_celeba.txt"
    first = path.read_text().splitlines()[2].split()
    edit(path, 3, "  ".join(first), "  ".join([first[0], "0", *first[2:]]))
    with pytest.raises(UserError, match="line 3: 'Smiling' must be 1 or -1, not '0'"):
        read_celeba(folder)


@pytest.mark.parametrize(
    "name", ["list_attr_celeba.txt", "list_eval_partition.txt", "img_align_celeba"]
)
def test_errors_name_the_missing_file(folder: Path, name: str) -> None:
    (folder / name).rename(folder / "elsewhere")
    with pytest.raises(UserError, match=f"cannot read .*{name}: there is no such file"):
        read_celeba(folder)
