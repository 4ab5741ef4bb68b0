"""The fit of `exact` on an engine: the same bundle from every engine, also when a worker dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_support import KEY, Pickling
from withhold.actions.engine_options import EngineOptions
from withhold.actions.fit import FitRequest, fit_to
from withhold.core.errors import UserError
from withhold.core.key_file import write_key
from withhold.methods.features.exact import fit as exact_fit
from withhold.records import streamed
from withhold.records.dataset import Dataset
from withhold.release.engines import Engine, open_engine
from withhold.release.engines.ray_engine import RayEngine

N = 9000  # three blocks
QUICK = {"codes": 12, "rounds": 1, "exact_rounds": 0, "epochs": 2}


@pytest.fixture(scope="module", autouse=True)
def _large() -> Iterator[None]:
    """Ten thousand numbers count as large, and a sample is small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamed, "MOST", 10_000)
        patch.setattr(exact_fit, "SAMPLE", 5 * 2000)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes of unequal size; some people have half of the records of their code."""
    folder = tmp_path_factory.mktemp("fit")
    rng = np.random.default_rng(0)
    who = np.where(rng.random(N) < 0.5, 0, rng.integers(1, 90, N))
    two, word = (who % 3 == 0).astype(int), rng.integers(0, 3, N)
    x = rng.standard_normal((N, 5)) + 3 * two[:, None]
    x[np.arange(N), 1 + word] += 4
    labels = {
        "two": [f"a{v}" for v in two],
        "word": [f"w{v}" for v in word],
        "who": [f"p{v}" for v in who],
    }
    Dataset.from_arrays(x.astype(np.float32), labels).write(folder / "many.parquet")
    write_key(folder / "owner.key", KEY)
    return folder


def request(place: Path, output: str, scores: str = "metric", **more: Any) -> FitRequest:
    return FitRequest(
        data=place / "many.parquet", output=place / output, suppress="two", preserve="word",
        method="exact", config=QUICK | {"scores": scores}, key=place / "owner.key", **more,
    )  # fmt: skip


def files_of(place: Path, output: str, engine: Engine | None, scores: str) -> dict[str, bytes]:
    fit_to(request(place, output, scores), engine=engine)
    return {p.name: p.read_bytes() for p in (place / output).iterdir()}


@pytest.mark.parametrize("scores", ["metric", "network"])
def test_the_bundle_is_that_of_this_process(place: Path, scores: str) -> None:
    sent = Counting()
    local = files_of(place, f"{scores}-local", None, scores)
    assert files_of(place, f"{scores}-sent", sent, scores) == local
    # At least one pass to balance, one to draw and two for the code vectors, three blocks each.
    assert {"ShareSums", "CodeDraws", "_SumsOfPeople", "_ClippedSums"} <= set(sent.blocks)
    assert set(sent.blocks.values()) == {3}


class Counting(Pickling):
    """Remembers how many blocks each work got in its last pass."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: dict[str, int] = {}

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        name = type(function.work).__name__  # type: ignore[attr-defined]
        self.blocks[name] = 0
        for made in super().map(function, tasks):
            self.blocks[name] += 1
            yield made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the engines themselves
@pytest.mark.parametrize("name", ["ray", "spark"])
def test_ray_and_spark_give_the_same_bundle(place: Path, name: str) -> None:
    pytest.importorskip({"ray": "ray", "spark": "pyspark"}[name])
    local = files_of(place, f"{name}-local", None, "network")
    with open_engine(name, workers=2) as engine:
        assert files_of(place, f"{name}-made", engine, "network") == local


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_changes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    local = files_of(place, "killed-local", None, "network")
    killed, mapped = 0, RayEngine.map

    def map_and_kill(self: RayEngine, function: Any, tasks: Any) -> Iterator[Any]:
        nonlocal killed
        for made in mapped(self, function, tasks):
            if killed < 3:
                os.kill(self.processes()[killed % 2], signal.SIGKILL)
                killed += 1
            yield made

    monkeypatch.setattr(RayEngine, "map", map_and_kill)
    with RayEngine(2) as engine:
        assert files_of(place, "killed", engine, "network") == local
    assert killed == 3


def test_other_methods_are_fitted_in_one_process(place: Path) -> None:
    asked = request(place, "other", of_engine=EngineOptions(engine="ray"))
    with pytest.raises(UserError, match=r"method 'leace' is fitted in one process.*--engine ray"):
        fit_to(asked.model_copy(update={"method": "leace", "config": {}}))
