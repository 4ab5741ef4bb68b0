"""`withhold bench engine-speed`: the same release, or the same fit of `exact`, on every engine.

Each runs in a fresh process. The time of the passes over all records is counted from when the
engine and its workers are up. Memory is counted over the process and all that it started.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from withhold.actions.fit import FitRequest, fit_bundle, fit_to
from withhold.bench.fit_row import bench_key
from withhold.bench.process_memory import MemoryWatch, need_proc
from withhold.bench.recipe import Recipe
from withhold.bench.release_memory import write_records
from withhold.bench.result_table import BenchResult, Cells
from withhold.bundle.bundle import Bundle, load_bundle
from withhold.core.errors import UserError
from withhold.core.key_file import write_key
from withhold.core.progress import Progress, Silent, Stage
from withhold.core.safe_read import file_sha256
from withhold.learn.nets.device import core_count
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.records.streamed import is_large
from withhold.release.engines import Engine, open_engine
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes

SECRET, OTHERS = "two", ("ten", "word")
Of = Literal["release", "fit"]
# The stages that pass over all records begin like this, and do not end like `_ON_SOME`.
_PASSES: dict[str, tuple[str, ...]] = {
    "release": ("looking", "transforming"),
    "fit": ("balancing", "drawing", "code vectors"),
}
_ON_SOME = "on some records"


class EngineSizes(BaseModel):
    """The settings of the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: Of = "release"
    records: int = Field(200_000, ge=100)
    features: int = Field(256, ge=1)
    fitted: int = Field(3_000, ge=100, description="records of the fit of a release")
    method: str = "codebook"
    settings: dict[str, Any] = Field({"codes": 256, "rounds": 1}, description="of the method")
    engines: tuple[str, ...] = ("local", "ray:1", "ray:2", "spark:1", "spark:2")


@dataclass(frozen=True)
class EngineRow:
    """A release or fit on one engine. start: seconds until workers are up; passes: after that."""

    engine: str
    start: float
    passes: float
    gibibytes: float
    sha256: dict[str, str]


@dataclass(frozen=True)
class EngineSpeed(BenchResult):
    """Seconds, memory and digests by engine."""

    of: Of
    records: int
    features: int
    cores: int
    rows: tuple[EngineRow, ...]
    file = "engine-speed.json"

    @property
    def command(self) -> str:
        """The recipe's name."""
        return "engine-speed" if self.of == "release" else "engine-fit"

    @property
    def title(self) -> str:
        """The size of the data."""
        what = "A release of" if self.of == "release" else "The passes of the exact fit of"
        return f"{what} {self.records:,} x {self.features} on every engine"

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
                    _digest(r.sha256)[:12],
                ]
            )
        head = ["engine", "start, s", "passes, s", "s per million", "over local", "over one worker"]
        return [*head, "GiB", "sha256"], lines

    @property
    def legend(self) -> str:
        """What the columns mean, and the aims."""
        same = "the same bytes" if self.same_bytes else "DIFFERENT BYTES"
        passes, files, aim = (
            "both passes over all records, reading and writing included,",
            "release, list of rows, certificate",
            " (aims: Ray with one worker at least 0.7 of local, with two at least 1.7 times one)",
        )
        if self.of == "fit":
            passes = "all passes that balance, draw and average all records, reading included,"
            files, aim = "all files of the bundle", ""
        return (
            f"{self.cores} cores. passes: {passes} after the engine and its workers have started."
            f" over local, over one worker: speed relative to those{aim}. GiB: peak memory of all"
            f" processes together. All engines wrote {same} ({files})."
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return asdict(self) | {"same_bytes": self.same_bytes}


def run_engine_speed(recipe: Recipe, output: Path, *, progress: Progress) -> EngineSpeed:
    """Release or fit the same records on every engine of the recipe."""
    need_proc("smaps_rollup")
    sizes = EngineSizes(**recipe.data_settings)
    data, given = output / "records.parquet", output / "given"
    try:
        write_records(data, sizes.records, sizes.features, progress=progress)
        if sizes.of == "release":
            _bundle(sizes, output / "fitted.parquet", progress).save(given)
        else:
            if not is_large(data, "x"):
                raise UserError(
                    f"{sizes.records:,} x {sizes.features} is fitted in memory; give more records"
                )
            given.mkdir(exist_ok=True)
            write_key(given / "key", bench_key(0))
            (given / "settings.json").write_text(json.dumps(sizes.settings))
        rows = tuple(_row(sizes.of, given, data, e, output, progress) for e in sizes.engines)
    finally:
        data.unlink(missing_ok=True)
        shutil.rmtree(given, ignore_errors=True)
    return EngineSpeed(sizes.of, sizes.records, sizes.features, core_count(), rows).write(output)


def _bundle(sizes: EngineSizes, sample: Path, progress: Progress) -> Bundle:
    """The bundle that releases the records, fitted on others."""
    write_records(sample, sizes.fitted, sizes.features, progress=progress)
    try:
        return fit_bundle(
            Dataset.read(sample), Roles.of(SECRET), method=sizes.method, config=sizes.settings,
            key=bench_key(0), progress=progress,
        )  # fmt: skip
    finally:
        sample.unlink()


def _row(
    of: Of, given: Path, data: Path, engine: str, output: Path, progress: Progress
) -> EngineRow:
    """One release or fit in a fresh process."""
    start = "import sys; from withhold.bench.engine_speed import main; main(*sys.argv[1:])"
    folder = output / f"{of}-{engine.replace(':', '-')}"
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", start, of, str(given), str(data), str(folder), engine]
    with progress.stage(f"{of} on {engine}", None):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with MemoryWatch(process.pid) as watch:
            said, told = process.communicate()
    if process.returncode:
        raise UserError(f"the {of} on {engine} failed: {told.decode()[-300:]}")
    found = json.loads(said.decode().strip().splitlines()[-1])
    files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
    digests = {str(p.relative_to(folder)): file_sha256(p) for p in files}
    shutil.rmtree(folder)
    return EngineRow(engine, found["start"], found["passes"], watch.peak / 2**30, digests)


def main(of: Of, given: str, data: str, folder: str, engine: str) -> None:
    """Release or fit in this process, and print the seconds as JSON."""
    name, _, workers = engine.partition(":")
    timed = _Timed(_PASSES[of])
    began = time.perf_counter()
    with open_engine(name, workers=int(workers) if workers else None) as running:
        list(running.map(_up, range(4 * running.workers)))
        started = time.perf_counter() - began
        work = _release if of == "release" else _fit
        work(Path(given), Path(data), Path(folder), timed, running)
    print(json.dumps({"start": round(started, 2), "passes": round(sum(timed.seconds), 2)}))


def _release(given: Path, data: Path, folder: Path, timed: Progress, engine: Engine) -> None:
    release_features(
        load_bundle(given), open_source(data), folder / "out.parquet", Wishes(drop=OTHERS),
        features="x", progress=timed, engine=engine,
    )  # fmt: skip


def _fit(given: Path, data: Path, folder: Path, timed: Progress, engine: Engine) -> None:
    request = FitRequest(
        data=data, output=folder / "made.bundle", suppress=SECRET, method="exact",
        config=json.loads((given / "settings.json").read_text()), key=given / "key",
    )  # fmt: skip
    fit_to(request, timed, engine=engine)


def _digest(files: Mapping[str, str]) -> str:
    """SHA-256 over the digests of some files."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _up(_: int) -> int:
    """A task that makes a worker import what it needs."""
    return core_count()


class _Timed(Silent):
    """The seconds of the stages that pass over all records."""

    def __init__(self, passes: tuple[str, ...]) -> None:
        super().__init__()
        self.passes, self.seconds = passes, list[float]()

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """Time a stage."""
        began = time.perf_counter()
        with super().stage(name, total) as bar:
            yield bar
        if name.startswith(self.passes) and not name.endswith(_ON_SOME):
            self.seconds.append(time.perf_counter() - began)
