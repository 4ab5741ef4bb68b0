"""Releases of others: the same features under the same ids, and what was promised about them."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from withhold.bench import external
from withhold.bench.external import BLUR_SIGMA, External, make_external
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.utkface import RACES, SIDE
from withhold.records.dataset import Dataset


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up Adult of 1,000 records, and 40 made-up faces."""
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    (folder / "adult").mkdir()
    for name, n in (("adult.data", 700), ("adult.test", 300)):
        lines = [", ".join(_person(rng)) for _ in range(n)]
        (folder / "adult" / name).write_text("\n".join(lines) + "\n")
    jpegs = []
    for _ in range(40):
        file = io.BytesIO()
        pixels = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
        image.fromarray(pixels).save(file, "JPEG")
        jpegs.append(file.getvalue())
    faces = {
        "jpeg": jpegs,
        "age": np.arange(1, 81, 2),
        "gender": np.arange(40) % 2,
        "race": np.arange(40) % 5,
    }
    pq.write_table(pa.table(faces), folder / "utkface_12000_64px.parquet")
    return folder


def _person(rng: np.random.Generator) -> list[str]:
    """A row of Adult in which sex, and race a little, move the hours and the relationship."""
    man, race = int(rng.integers(2)), int(rng.integers(3))
    close = ("Wife", "Husband")[man] if rng.random() < 0.6 else "Unmarried"
    hours, years = rng.normal(38 + 5 * man + race, 6), rng.integers(1, 16)
    gain, loss = rng.integers(0, 3, 2) * 1000
    return [
        str(rng.integers(18, 80)), str(rng.choice(["Private", "State-gov", "?"])), "1", "Masters",
        str(years), "Divorced", str(rng.choice(["Sales", "Armed-Forces"])), close,
        ("White", "Black", "Other")[race], ("Female", "Male")[man], str(gain), str(loss),
        f"{hours:.1f}", "Cuba", ">50K" if hours + years > 50 else "<=50K",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def made(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[External]:
    pytest.importorskip("fairlearn", reason="fairlearn is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WITHHOLD_DATA", str(data_folder))
        return make_external(tmp_path_factory.mktemp("out") / "new", progress=Silent())


def read(one: External) -> tuple[Dataset, Dataset]:
    """The original, and the release in the order of the original."""
    original = Dataset.read(one.original, features=one.features)
    release = Dataset.read(one.release, features=one.features)
    keys = [data.table[one.key].to_pylist() for data in (original, release)]
    assert keys[0] != keys[1]
    assert sorted(keys[0]) == sorted(keys[1])
    assert len(set(keys[0])) == len(original)
    place = {key: i for i, key in enumerate(keys[1])}
    return original, release.rows(np.array([place[key] for key in keys[0]]))


def test_the_same_features_and_no_attribute(made: list[External]) -> None:
    for one in made:
        original, release = read(one)
        assert original.layout.columns == release.layout.columns
        assert original.x.shape == release.x.shape
        assert release.table.column_names == [one.key]
        for name in f"{one.suppress},{one.preserve}".split(","):
            original.attribute(name).require_label(original.name)


def test_what_fairlearn_leaves(made: list[External]) -> None:
    original, release = read(made[0])
    assert original.parts is not None
    train, test = (original.parts == part for part in ("train", "test"))
    for name in ("sex", "race"):
        codes = original.attribute(name).codes
        indicators = np.eye(codes.max() + 1)[codes[train]]
        centred = release.x[train] - release.x[train].mean(0)
        covariance = centred.T @ (indicators - indicators.mean(0)) / train.sum()
        assert np.abs(covariance).max() < 1e-5
        linear = LogisticRegression(max_iter=2000).fit(release.x[train], codes[train])
        majority = np.bincount(codes[test]).max() / test.sum()
        assert linear.score(release.x[test], codes[test]) < majority + 0.1
        # What was subtracted differs by class, so that a category is no longer 0 or 1 but a
        # number that tells the class.
        tree = DecisionTreeClassifier(random_state=0).fit(release.x[train], codes[train])
        assert tree.score(release.x[test], codes[test]) > 0.99


def test_what_blur_does(made: list[External]) -> None:
    original, release = read(made[1])
    assert original.x.min() >= 0
    assert 0.5 < original.x.max() <= 1
    for before, after in zip(original.x, release.x, strict=True):
        blurred = gaussian_filter(before.reshape(SIDE, SIDE), BLUR_SIGMA).ravel()
        np.testing.assert_allclose(after, blurred, atol=0.5 / 255 + 1e-6)
    np.testing.assert_allclose(release.x * 255, np.rint(release.x * 255), atol=1e-4)


def test_labels_of_faces(made: list[External]) -> None:
    table = Dataset.read(made[1].original).table
    assert table["gender"].to_pylist() == ["male", "female"] * 20
    assert table["race"].to_pylist() == list(RACES) * 8
    ages = dict(zip(range(1, 81, 2), table["age"].to_pylist(), strict=True))
    wanted = {1: "0-12", 11: "0-12", 13: "13-19", 19: "13-19", 29: "20-29", 59: "45-59", 79: "60+"}
    assert {age: ages[age] for age in wanted} == wanted


def test_same_files_again(made: list[External], data_folder: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WITHHOLD_DATA", str(data_folder))
        again = make_external(tmp_path, progress=Silent())
    for one, two in zip(made, again, strict=True):
        assert one.original.read_bytes() == two.original.read_bytes()
        assert one.release.read_bytes() == two.release.read_bytes()


def test_without_fairlearn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fairlearn.preprocessing", None)
    with pytest.raises(UserError, match="the release of Adult needs the package fairlearn: pip"):
        external.remove_correlation(tmp_path / "a.parquet", tmp_path / "b.parquet", ["sex"])
