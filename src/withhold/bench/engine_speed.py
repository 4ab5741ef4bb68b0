"""`withhold bench engine-speed`: the same release on every engine, one after the other.

Every release runs in a fresh process. The time of the passes over all records is counted from when
the engine and its workers are up. Memory is counted over the process and all that it started.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from withhold.actions.fit import fit_bundle
from withhold.bench.fit_row import bench_key
from withhold.bench.process_memory import MemoryWatch, need_proc
from withhold.bench.recipe import Recipe
from withhold.bench.release_memory import write_records
from withhold.bench.result_table import BenchResult, Cells
from withhold.bundle.bundle import load_bundle
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent, Stage
from withhold.core.safe_read import file_sha256
from withhold.learn.nets.device import core_count
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.release.engines import open_engine
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes

SECRET, OTHERS = "two", ("ten", "word")
_PASSES = ("looking", "transforming")


class EngineSizes(BaseModel):
    """The settings of the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    records: int = Field(200_000, ge=100)
    features: int = Field(256, ge=1)
    fitted: int = Field(3_000, ge=100, description="records of the fit")
    method: str = "codebook"
    settings: dict[str, Any] = Field({"codes": 256, "rounds": 1}, description="of the method")
    engines: tuple[str, ...] = ("local", "ray:1", "ray:2", "spark:1", "spark:2")


@dataclass(frozen=True)
class EngineRow:
    """A release on one engine. start: seconds until its workers are up; passes: after that."""

    engine: str
    start: float
    passes: float
    gibibytes: float
    sha256: dict[str, str]


@dataclass(frozen=True)
class EngineSpeed(BenchResult):
    """Seconds, memory and digests by engine."""

    records: int
    features: int
    cores: int
    rows: tuple[EngineRow, ...]
    command, file = "engine-speed", "engine-speed.json"

    @property
    def title(self) -> str:
        """The size of the data."""
        return f"A release of {self.records:,} x {self.features} on every engine"

    @property
    def same_bytes(self) -> bool:
        """Whether all engines wrote the same files."""
        return all(r.sha256 == self.rows[0].sha256 for r in self.rows)

    def cells(self) -> Cells:
        """A line for each engine."""
        passes = {r.engine: r.passes for r in self.rows}
        local = passes.get("local")
        lines = []
        for r in self.rows:
            one = passes.get(f"{r.engine.partition(':')[0]}:1")
            lines.append(
                [
                    r.engine,
                    f"{r.start:.1f}",
                    f"{r.passes:.1f}",
                    f"{1e6 * r.passes / self.records:.1f}",
                    "" if local is None else f"{local / r.passes:.2f}",
                    "" if one is None else f"{one / r.passes:.2f}",
                    f"{r.gibibytes:.2f}",
                    r.sha256["out.parquet"][:12],
                ]
            )
        head = ["engine", "start, s", "passes, s", "s per million", "over local", "over one worker"]
        return [*head, "GiB", "sha256"], lines

    @property
    def legend(self) -> str:
        """What the columns mean, and the aims."""
        same = "the same bytes" if self.same_bytes else "DIFFERENT BYTES"
        return (
            f"{self.cores} cores. passes: both passes over all records, reading and writing"
            " included, after the engine and its workers have started. over local, over one worker:"
            " speed relative to those (aims: Ray with one worker at least 0.7 of local, with two"
            " at least 1.7 times one). GiB: peak memory of all processes together. All engines"
            f" wrote {same} (release, list of rows, certificate)."
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return asdict(self) | {"same_bytes": self.same_bytes}


def run_engine_speed(recipe: Recipe, output: Path, *, progress: Progress) -> EngineSpeed:
    """Release the same records on every engine of the recipe."""
    need_proc("smaps_rollup")
    sizes = EngineSizes(**recipe.data_settings)
    data, sample, bundle = (output / n for n in ("records.parquet", "fitted.parquet", "bundle"))
    try:
        write_records(data, sizes.records, sizes.features, progress=progress)
        write_records(sample, sizes.fitted, sizes.features, progress=progress)
        fit_bundle(
            Dataset.read(sample), Roles.of(SECRET), method=sizes.method, config=sizes.settings,
            key=bench_key(0), progress=progress,
        ).save(bundle)  # fmt: skip
        rows = tuple(_row(bundle, data, engine, output, progress) for engine in sizes.engines)
    finally:
        data.unlink(missing_ok=True)
        sample.unlink(missing_ok=True)
    return EngineSpeed(sizes.records, sizes.features, core_count(), rows).write(output)


def _row(bundle: Path, data: Path, engine: str, output: Path, progress: Progress) -> EngineRow:
    """One release in a fresh process."""
    start = "import sys; from withhold.bench.engine_speed import main; main(*sys.argv[1:])"
    folder = output / f"release-{engine.replace(':', '-')}"
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", start, str(bundle), str(data), str(folder), engine]
    with progress.stage(f"releasing on {engine}", None):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with MemoryWatch(process.pid) as watch:
            said, told = process.communicate()
    if process.returncode:
        raise UserError(f"the release on {engine} failed: {told.decode()[-300:]}")
    found = json.loads(said.decode().strip().splitlines()[-1])
    digests = {p.name: file_sha256(p) for p in sorted(folder.iterdir())}
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    return EngineRow(engine, found["start"], found["passes"], watch.peak / 2**30, digests)


def main(bundle: str, data: str, folder: str, engine: str) -> None:
    """Release in this process, and print the seconds as JSON."""
    name, _, workers = engine.partition(":")
    timed = _Timed()
    began = time.perf_counter()
    with open_engine(name, workers=int(workers) if workers else None) as running:
        list(running.map(_up, range(4 * running.workers)))
        started = time.perf_counter() - began
        release_features(
            load_bundle(bundle), open_source(data), Path(folder) / "out.parquet",
            Wishes(drop=OTHERS), features="x", progress=timed, engine=running,
        )  # fmt: skip
    print(json.dumps({"start": round(started, 2), "passes": round(sum(timed.seconds), 2)}))


def _up(_: int) -> int:
    """A task that makes a worker import what it needs."""
    return core_count()


class _Timed(Silent):
    """The seconds of the stages that pass over all records."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """Time a stage."""
        began = time.perf_counter()
        with super().stage(name, total) as bar:
            yield bar
        if name.startswith(_PASSES):
            self.seconds.append(time.perf_counter() - began)
