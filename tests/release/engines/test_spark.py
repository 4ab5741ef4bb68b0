"""Spark: the same bytes as from this process, also when a worker is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import withhold as wh
from engine_support import check_rows, fitted, table, written
from withhold.bench import process_memory
from withhold.certificate import plan_tally
from withhold.core.errors import UserError
from withhold.release.engines import open_engine
from withhold.release.engines.spark_engine import SparkEngine, start_spark, stop_spark

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'withhold[scale]'")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Spark itself


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A Spark session for all tests of this file, as a user might have one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_tally, "_KEPT", 0)
        session, folder = start_spark(2)
        yield session
        stop_spark(session, folder)


def test_the_bytes_are_those_of_this_process(session: Any, tmp_path: Path) -> None:
    data = table()
    for method in ("exact", "noise"):
        bundle = fitted(method, data)
        local = written(bundle, data, tmp_path / method, rows=128)
        for workers in (1, 2):
            with open_engine("spark", workers=workers) as engine:
                made = tmp_path / f"{method}-{workers}"
                assert local == written(bundle, data, made, rows=128, group=90, engine=engine)
    with (
        open_engine("spark", workers=2) as engine,
        pytest.raises(UserError, match="there is no engine"),
    ):
        list(engine.map(open_engine, ["local", "none"]))
    assert session.range(3).count() == 3  # it was there before, so it stays


def _workers() -> list[int]:
    """The Python workers of the Spark of this process: children of its daemon."""
    found = []
    for process in process_memory._family(os.getpid()):
        parent = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]
        command = Path(f"/proc/{parent}/cmdline").read_text()
        if "pyspark.daemon" in command:
            found.append(process)
    return found


def test_a_killed_worker_changes_nothing(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table()
    bundle = fitted("noise", data)
    local = written(bundle, data, tmp_path / "local", rows=16)
    killed: list[int] = []
    mapped = SparkEngine.map

    def killing(self: SparkEngine, function: Any, tasks: Any) -> Iterator[Any]:
        for i, made in enumerate(mapped(self, function, tasks)):
            if i in (2, 14):  # a job is over, and the next one runs
                for process in _workers():
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
            yield made

    monkeypatch.setattr(SparkEngine, "map", killing)
    with open_engine("spark", workers=2) as engine:
        found = written(bundle, data, tmp_path / "killed", rows=16, engine=engine)
    assert killed
    assert local == found


def test_a_frame_is_released_where_it_is(session: Any, tmp_path: Path) -> None:
    data = table()
    for method in ("noise", "exact"):
        bundle = fitted(method, data)
        written(bundle, data, tmp_path / method)
        frame = session.read.parquet(str(tmp_path / method / "in.parquet")).repartition(3)
        found = wh.engines.spark.release(frame, bundle)
        rows: pa.Table = found.data.toArrow()
        check_rows(found, rows, tmp_path / method)
        found.data.unpersist()
