"""Ray: the same bytes with any number of workers, also when one is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from operator import neg
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import withhold as wh
from engine_support import check_rows, fitted, table, written
from withhold.certificate import plan_tally
from withhold.core.errors import UserError
from withhold.release.engines import open_engine
from withhold.release.engines.ray_engine import RayEngine, cpu_share, start_ray, stop_ray

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'withhold[scale]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray itself


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray with two CPUs for all tests of this file, as a user might have one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_tally, "_KEPT", 0)
        folder = start_ray(2)
        yield
        stop_ray(folder)


@pytest.mark.slow
def test_results_come_in_order_and_errors_as_they_are(cluster: None) -> None:
    with open_engine("ray", workers=2) as engine:
        assert engine.workers == 2
        assert list(engine.map(neg, range(30))) == [-i for i in range(30)]
        with pytest.raises(UserError, match=r"^there is no engine 'rey'; did you mean 'ray'"):
            list(engine.map(open_engine, ["local", "rey", "local"]))
    assert ray.is_initialized()  # it was there before, so it stays


@pytest.mark.slow
def test_the_bytes_are_those_of_this_process(cluster: None, tmp_path: Path) -> None:
    data = table()
    for method in ("exact", "noise"):
        bundle = fitted(method, data)
        local = written(bundle, data, tmp_path / method, rows=128)
        for workers in (1, 2):
            with open_engine("ray", workers=workers) as engine:
                made = tmp_path / f"{method}-{workers}"
                assert local == written(
                    bundle, data, made, rows=128, group=100 * workers, engine=engine
                )


class KillOnce:
    """Kills a worker after the third batch."""

    def __init__(self, engine: RayEngine) -> None:
        self.engine, self.killed = engine, 0

    def map(self, function: Any, tasks: Any) -> Iterator[Any]:
        for i, made in enumerate(self.engine.map(function, tasks)):
            if i == 3:
                os.kill(self.engine.processes()[0], signal.SIGKILL)
                self.killed += 1
            yield made


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table()
    bundle = fitted("noise", data)
    local = written(bundle, data, tmp_path / "local", rows=32)
    with RayEngine(2) as engine:
        killer, mapped = KillOnce(engine), RayEngine.map
        monkeypatch.setattr(RayEngine, "map", lambda self, f, t: killer.map(f, t))
        killer.engine = _Plain(engine, mapped)  # type: ignore[assignment]
        killed = written(bundle, data, tmp_path / "killed", rows=32, engine=engine)
    assert killer.killed == 2  # once in each pass
    assert local == killed


class _Plain:
    """The engine with its own `map`."""

    def __init__(self, engine: RayEngine, mapped: Any) -> None:
        self.engine, self.mapped = engine, mapped

    def map(self, function: Any, tasks: Any) -> Any:
        return self.mapped(self.engine, function, tasks)

    def processes(self) -> list[int]:
        return self.engine.processes()


@pytest.mark.slow
def test_a_dataset_is_released_where_it_is(cluster: None, tmp_path: Path) -> None:
    """With as many actors as CPUs, which must not starve the tasks that read."""
    data = table()
    ray.data.DataContext.get_current().enable_progress_bars = False
    for method in ("noise", "exact"):
        bundle = fitted(method, data)
        written(bundle, data, tmp_path / method)
        dataset = ray.data.read_parquet(str(tmp_path / method / "in.parquet")).repartition(3)
        found = wh.engines.ray.release(dataset, bundle, workers=2)
        rows = pa.concat_tables(ray.get(found.data.to_arrow_refs()))
        check_rows(found, rows, tmp_path / method)


@pytest.mark.parametrize(("workers", "cpus"), [(1, 1), (2, 2), (8, 2), (1, 8), (64, 64)])
def test_actors_leave_a_cpu_to_readers(workers: int, cpus: int) -> None:
    assert workers * cpu_share(workers, cpus) <= cpus - 1 + 1e-9
    assert 0 <= cpu_share(workers, cpus) <= 1
