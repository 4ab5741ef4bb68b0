"""The speed of codebook at sizes that take no time: what is measured, and of what."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from support import TINY
from withhold.actions.fit import fit_bundle
from withhold.bench import codebook_speed, find_recipe, run_recipe
from withhold.bench.codebook_speed import Sizes, grow, many_people, measure_codebook_speed
from withhold.bench.fit_in_subprocess import SubprocessFit, fit_here, fit_in_subprocess, put
from withhold.bench.fit_row import bench_key
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

pytestmark = pytest.mark.slow

QUICK = {"rounds": 2, "epochs": 2, "hidden": [8], "dropout": [0, 0]}
CONFIG = {"codes": 5} | QUICK
SMALL = Sizes(
    settings=QUICK, turns=1, times=(1, 3), directions=6, grown=5,
    classes=4, records=30, features=5, codes=(4,),
)  # fmt: skip


def voices(n: int = 360) -> Dataset:
    """Four speakers, three digits, two genders and accents, in eight features."""
    rng = np.random.default_rng(0)
    speaker, digit = np.arange(n) % 4, (np.arange(n) // 4) % 3
    x = rng.standard_normal((n, 8)) * np.arange(8, 0, -1)
    x[:, 0] += 9 * speaker
    x[:, 1] += 9 * digit
    table = {
        "speaker": [f"s{v}" for v in speaker],
        "digit": [f"{v}" for v in digit],
        "gender": [f"g{v % 2}" for v in speaker],
        "accent": [f"a{v // 2}" for v in speaker],
        "split": np.where(np.arange(n) < 0.75 * n, "train", "test").tolist(),
    }
    return Dataset.from_arrays(x, table)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("this system has no /proc/self/status")
    rival = find_recipe(codebook_speed.RIVAL).model_copy(update={"config": TINY})
    monkeypatch.setattr(codebook_speed, "public", lambda name, *, progress: voices())
    monkeypatch.setattr(codebook_speed, "find_recipe", lambda name: rival)


def here(
    data: Dataset, suppress: str, config: Any, *, useful: str = "", folder: Path
) -> SubprocessFit:
    """As `fit_in_subprocess`, without the seconds that a process takes to begin."""
    with TemporaryDirectory() as place:
        put(Path(place), data, suppress, config, useful)
        return fit_here(Path(place))


@pytest.mark.usefixtures("stub")
def test_what_is_measured(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        codebook_speed,
        "measure_codebook_speed",
        lambda out, *, progress: measure_codebook_speed(out, progress=progress, sizes=SMALL),
    )
    monkeypatch.setattr(codebook_speed, "fit_in_subprocess", here)
    result = run_recipe(find_recipe("codebook-speed"), tmp_path, progress=Silent())
    assert (result.records, result.features) == (270, 8)
    assert list(result.seconds) == [*codebook_speed.SOLVERS, "mass"]
    assert all(s > 0 for s in result.seconds.values())
    assert [g.records for g in result.growth] == [270, 3 * 270]
    for g in result.growth:
        assert (g.features, g.classes) == (6, 4)
        assert g.codes <= 5
        assert g.floor == pytest.approx(0.25, abs=0.02)
        assert g.floor < g.bound <= 1
        assert 1 / 3 - 0.05 < g.useful <= 1
        assert g.gibibytes >= 0
    (many,) = result.many
    assert (many.records, many.features, many.classes) == (120, 5, 4)
    assert 2 <= many.codes <= 4
    assert many.bound is None
    saved = json.loads((tmp_path / "codebook-speed.json").read_text())
    assert saved == json.loads(json.dumps(result.to_dict()))
    assert saved["ratio"] == result.seconds["mass"] / result.seconds["codebook, self-label"]
    assert "| codebook, self-label |" in (tmp_path / "table.md").read_text()
    result.print()
    assert "4 classes, 120 records of 5 features" in capsys.readouterr().out
    assert {p.name for p in tmp_path.iterdir()} == {"codebook-speed.json", "table.md"}


@pytest.mark.usefixtures("stub")
def test_the_bound_is_that_of_the_certificate(tmp_path: Path) -> None:
    data = voices()
    found = fit_in_subprocess(data, "speaker", CONFIG, useful="digit", folder=tmp_path)
    bundle = fit_bundle(
        data, Roles.of("speaker"), method="codebook", config=CONFIG, key=bench_key(0)
    )
    assert bundle.certificate is not None
    claim = bundle.certificate["attributes"]["speaker"]
    assert found.bound == pytest.approx(claim["bound"], abs=1e-6)
    assert found.floor == claim["majority"]


@pytest.mark.usefixtures("stub")
def test_a_fit_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"failed: .*'speker' is not in"):
        fit_in_subprocess(voices(), "speker", CONFIG, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_growing_keeps_shares_and_the_test_part() -> None:
    one, four = (grow(voices(), times, 6) for times in (1, 4))
    assert np.array_equal(one.part("test").x, four.part("test").x)
    small, large = one.part("train"), four.part("train")
    assert len(large) == 4 * len(small)
    assert np.array_equal(4 * small.attribute("speaker").counts, large.attribute("speaker").counts)
    assert np.array_equal(small.x, large.x[: len(small)])
    for copy in np.split(large.x, 4)[1:]:
        moved = (copy - small.x).std(axis=0) / small.x.std(axis=0)
        assert moved == pytest.approx(np.full(6, 0.02), rel=0.2)
    # Directions are principal: uncorrelated, the widest first.
    covariance = np.cov(small.x.T)
    assert (np.diff(np.diag(covariance)) <= 0).all()
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 1e-3


def test_many_people() -> None:
    data = many_people(7, 5, 3)
    assert data.x.shape == (35, 3)
    assert data.attribute("label").counts.tolist() == [5] * 7
    assert len(data.part("train")) == 35
