"""Adience's layout, with drawn faces in the place of its images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from face_folders import make_adience
from withhold.core.errors import UserError
from withhold.datasets.adience import AGES, Images, age_group, read_adience
from withhold.records.samples import Picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_adience(tmp_path / "adience")
    return tmp_path / "adience"


@pytest.mark.parametrize("images", ["aligned", "faces"])
def test_identities_ages_genders_and_folds(tmp_path: Path, images: Images) -> None:
    drawn = make_adience(tmp_path / "adience").table.to_pylist()
    data = read_adience(tmp_path / "adience", images=images)
    assert len(data) == len(drawn)
    for row in data.table.to_pylist():
        true = drawn[int(row["file"].split(".")[-1].split("_")[0])]
        assert row["identity"] == str(int(true["person"][1:]))
        assert row["gender"] == true["gender"]
        assert row["fold"] == int(row["identity"]) % 5
    ages = {*data.table["age"].to_pylist()}
    assert ages <= {f"{low}-{high}" for low, high in AGES}
    assert len(ages) == 5


def test_images_of_a_person_alternate(folder: Path) -> None:
    data = read_adience(folder)
    parts = Counter(
        zip(data.table["identity"].to_pylist(), data.table["split"].to_pylist(), strict=True)
    )
    for person in {*data.table["identity"].to_pylist()}:
        assert 0 <= parts[person, "train"] - parts[person, "test"] <= 1


def test_official_folds_share_nobody(folder: Path) -> None:
    data = read_adience(folder, split="folds")
    people = [{*data.part(p).table["identity"].to_pylist()} for p in ("train", "val", "test")]
    assert all(people)
    assert not (people[0] & people[1] | people[0] & people[2] | people[1] & people[2])


def test_few_images_and_few_people(folder: Path) -> None:
    counts = Counter(read_adience(folder).table["identity"].to_pylist())
    least = sorted(counts.values())[2]
    kept = read_adience(folder, least=least).table["identity"].to_pylist()
    assert Counter(kept) == {p: c for p, c in counts.items() if c >= least}
    some = Counter(read_adience(folder, most=30).table["identity"].to_pylist())
    assert 0 < sum(some.values()) <= 30
    assert all(some[p] == counts[p] for p in some)
    with pytest.raises(UserError, match="nobody has 99 images or more"):
        read_adience(folder, least=99)


def test_sized_images(folder: Path) -> None:
    data = read_adience(folder, side=48)
    assert data.media is not None
    content = next(iter(data.media.items())).content
    assert isinstance(content, Picture)
    assert content.pixels.shape == (48, 48, 3)


@pytest.mark.parametrize(
    ("text", "group"),
    [
        *((f"({low}, {high})", f"{low}-{high}") for low, high in AGES),
        ("(27, 32)", "25-32"),
        ("(38, 42)", "38-43"),
        ("2", "0-2"),
        ("29", "25-32"),
        ("35", None),
        ("13", None),
        ("(38, 48)", None),
        ("(8, 23)", None),
        ("(32, 25)", None),
        ("None", None),
        ("", None),
    ],
)
def test_age_groups(text: str, group: str | None) -> None:
    assert age_group(text) == group


def first_line(folder: Path) -> tuple[Path, list[str], list[str]]:
    path = folder / "fold_1_data.txt"
    lines = path.read_text().splitlines()
    return path, lines, lines[1].split("\t")


def test_unknown_genders_are_missing(folder: Path) -> None:
    path, lines, cells = first_line(folder)
    for gender in ("u", ""):
        cells[4] = gender
        path.write_text("\n".join([lines[0], "\t".join(cells), *lines[2:]]))
        table = read_adience(folder).table
        assert table["gender"].null_count == 1


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (4, "x", "fold_1_data.txt, line 2: gender must be m, f, u or empty, not 'x'"),
        (1, "none.jpg", "fold_1_data.txt, line 2: the image .*none.jpg is not there"),
        (2, "", "fold_1_data.txt, line 2: user_id, original_image or face_id is empty"),
    ],
)
def test_errors_name_the_line(folder: Path, column: int, value: str, said: str) -> None:
    path, lines, cells = first_line(folder)
    cells[column] = value
    path.write_text("\n".join([lines[0], "\t".join(cells), *lines[2:]]))
    with pytest.raises(UserError, match=said):
        read_adience(folder)


def test_errors_of_whole_files(folder: Path) -> None:
    path, lines, _ = first_line(folder)
    path.write_text("\n".join([*lines, lines[1]]))
    with pytest.raises(UserError, match=r"is listed twice \(also in fold_1_data.txt\)"):
        read_adience(folder)
    path.write_text("\n".join([*lines, "a\tb"]))
    with pytest.raises(UserError, match="expected 12 cells, found 2"):
        read_adience(folder)
    path.write_text("\n".join(lines[1:]))
    with pytest.raises(UserError, match="line 1: expected the columns user_id"):
        read_adience(folder)
    path.unlink()
    with pytest.raises(UserError, match=r"cannot read .*fold_1_data.txt: there is no such file"):
        read_adience(folder)
    path.write_text("\n".join(lines))
    (folder / "aligned").rename(folder / "other")
    with pytest.raises(UserError, match=r"cannot read .*aligned: there is no such file"):
        read_adience(folder)
