"""The recipes on Adience, with drawn faces in its layout, few of them, and tiny settings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from face_folders import make_adience
from release_support import picture_bytes
from support import TINY
from withhold.audit.attackers import Logistic
from withhold.bench import Recipe, find_recipe, media_releases, paper_tables, run_recipe
from withhold.bench.anonymised_folder import anonymised_pictures
from withhold.bench.media_features import media_of, opened
from withhold.bench.recipe import Extracted
from withhold.core.errors import UserError
from withhold.core.progress import Silent

pytestmark = pytest.mark.slow

N = 200  # images
TABLES = [f"adience-table{n}" for n in (2, 5, 8, 9, 10, 11, 12, 13)]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    make_adience(folder / "adience", n=N, people=4, side=32, nuisance=0)
    monkeypatch.setenv("WITHHOLD_DATA", str(folder))
    monkeypatch.setattr(media_releases, "ATTACKERS", (Logistic(),))
    monkeypatch.setattr(paper_tables, "ATTACKERS", (Logistic(),))
    return folder


def small(name: str, **change: object) -> Recipe:
    """A recipe of ours at 32 pixels, with pixels for FaceNet's features and tiny networks."""
    recipe = find_recipe(name)
    assert recipe.config == {"preset": "adience"}
    assert [e.name for e in recipe.extractors] == ["facenet"]
    few = {
        "extractors": (Extracted(name="pixels", settings={"side": 16}),),
        "data_settings": {"side": 32},
        "config": {**recipe.config, **TINY},
        **change,
    }
    return recipe.model_copy(update=few)


@pytest.mark.parametrize("name", TABLES)
def test_the_paper_is_beside_every_table(name: str) -> None:
    recipe = find_recipe(name)
    assert recipe.measure == ("identity", "age", "gender")
    told = [row for row in recipe.rows if row.paper]
    assert len(told) >= 2
    assert all(set(row.paper) == set(recipe.measure) for row in told)


def test_a_table_of_features(tmp_path: Path) -> None:
    recipe = small("adience-table2")
    recipe = recipe.model_copy(update={"rows": (recipe.rows[0], recipe.rows[-1])})
    run_recipe(recipe, tmp_path / "out" / "table2", progress=Silent())
    original, mass = json.loads((tmp_path / "out/table2/results.json").read_text())["rows"]
    assert original["paper"] == {"identity": 90.8, "age": 89.1, "gender": 97.4}
    assert original["informed"]["identity"] > 0.5  # one of four people
    assert mass["distortion"] > 0
    shared = {p.name for p in (tmp_path / "out/media").iterdir() if p.suffix == ".parquet"}
    assert shared == {"adience-aligned-32px.parquet", "adience-pixels.parquet"}


def anonymise(data: Path, folder: str, ending: str = "", *, skip: int = 0) -> Path:
    """A folder as CIAGAN and others write it: the name of the original, a picture of nothing."""
    grey = picture_bytes(np.full((20, 20, 3), 128, np.uint8), "PNG")
    for path in sorted((data / "adience" / "aligned").rglob("*.jpg"))[skip:]:
        target = data / folder / f"{path.stem}{ending}.png"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(grey)
    return data / folder


def test_folders_of_other_systems(data: Path, tmp_path: Path) -> None:
    anonymise(data, "adience-ciagan", skip=4)
    anonymise(data, "adience-fawkes", "_cloaked")
    recipe = small("adience-table5")
    kept = ("original", "downsample 8x", "CIAGAN", "DeepPrivacy", "Fawkes")
    rows = tuple(row for row in recipe.rows if row.label in kept)
    found = run_recipe(
        recipe.model_copy(update={"rows": rows}), tmp_path / "out", progress=Silent()
    )
    rows_of = {row.label: row for row in found.rows}
    assert set(rows_of) == set(kept) - {"DeepPrivacy"}
    assert "Left out, since their folders are not there: DeepPrivacy." in found.legend
    assert (rows_of["CIAGAN"].records, rows_of["Fawkes"].records) == (N - 4, N)
    assert rows_of["original"].informed["identity"] > 0.5
    # Pictures that are all alike tell nothing but the most frequent class.
    for name in ("CIAGAN", "Fawkes"):
        assert rows_of[name].informed["identity"] <= rows_of[name].guess["identity"] + 0.1


def test_images_are_matched_by_name(data: Path, tmp_path: Path) -> None:
    recipe = small("adience-table5")
    original = opened(media_of(recipe, tmp_path / "media"))
    folder = data / "same"
    (data / "adience" / "aligned").rename(folder)  # the originals themselves, with their folders
    matched = anonymised_pictures(original, folder)
    assert matched.labels() == original.labels()
    for path in sorted(folder.rglob("*.jpg"))[::2]:
        path.unlink()
    half = anonymised_pictures(original, folder).labels()
    assert half is not None
    assert len(half) == N // 2
    left = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.jpg")}
    assert {*half["file"].to_pylist()} == left


def test_folders_that_cannot_be_matched(data: Path, tmp_path: Path) -> None:
    original = opened(media_of(small("adience-table5"), tmp_path / "media"))
    folder = anonymise(data, "made")
    with pytest.raises(UserError, match=r"no image of .*made has the name.*end in '_cloaked'"):
        anonymised_pictures(original, folder, "_cloaked")
    first = sorted(folder.iterdir())[0]
    first.with_suffix(".jpg").write_bytes(first.read_bytes())
    with pytest.raises(UserError, match="made has several images for"):
        anonymised_pictures(original, folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("kind: table", "a folder of images needs `kind: media`"),
        ("kind: media\nmethod: mass", "give a method or a folder, not both"),
    ],
)
def test_refused_rows(tmp_path: Path, change: str, said: str) -> None:
    method = ", method: blur" if "not both" in said else ""
    (tmp_path / "mine.yaml").write_text(
        f"title: t\ndata: adience\nmeasure: [age]\nextractors: [{{name: pixels}}]\n{change}\n"
        f"rows:\n  - {{label: a, folder: there{method}}}\n"
    )
    with pytest.raises(UserError, match=said):
        find_recipe(str(tmp_path / "mine.yaml"))
