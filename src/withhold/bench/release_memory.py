"""`withhold bench release-memory`: memory and time of `withhold release`, by the number of records.

Every release runs in a fresh process, as a user would start it. Memory is counted over the process
and its workers, shared pages once.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.bench.process_memory import MemoryWatch, need_proc
from withhold.bench.recipe import Recipe
from withhold.bench.result_table import BenchResult, Cells
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.records.writers import open_sink

RECORDS = (1_000_000, 3_000_000, 10_000_000)
FEATURES = 64
SECRETS = ("two", "ten")  # columns, with as many classes
_BLOCK = 65_536


@dataclass(frozen=True)
class ReleaseRow:
    """One release. `unequal` is the largest difference between the shares of a code in two
    classes, and `plan` what is proved from one row; `floor` is the commonest class."""

    records: int
    secret: str
    codes: int
    seconds: float
    processor: float  # seconds of all cores together, with the workers
    gibibytes: float  # the process and its workers
    alone: float  # the process by itself
    unequal: float
    plan: float
    floor: float

    @property
    def per_million(self) -> float:
        """Seconds of processor time for a million records."""
        return self.processor / (self.records / 1e6)


@dataclass(frozen=True)
class ReleaseMemoryResult(BenchResult):
    """Peak memory and time of releases of several sizes."""

    features: int
    rows: list[ReleaseRow]
    command, file = "release-memory", "release-memory.json"
    legend = (
        "Peak memory of `withhold release` with its workers, and of its own process (in brackets)."
        " CPU s: seconds of all cores together, which other processes hardly change. Aim: at most"
        " 3 GiB, and CPU seconds in proportion to the records."
    )

    @property
    def title(self) -> str:
        """The width of the data."""
        return f"Memory and time of releasing n x {self.features} float32"

    def cells(self) -> Cells:
        """A line for each release."""
        head = [
            "records",
            "classes",
            "codes",
            "GiB",
            "seconds",
            "CPU s",
            "CPU s per million",
            "proved",
            "floor",
        ]
        lines = [
            [
                f"{r.records:,}", r.secret, f"{r.codes:,}", f"{r.gibibytes:.2f} ({r.alone:.2f})",
                f"{r.seconds:,.0f}", f"{r.processor:,.0f}", f"{r.per_million:.0f}",
                f"{100 * r.plan:.4f} %", f"{100 * r.floor:.4f} %",
            ]
            for r in self.rows
        ]  # fmt: skip
        return head, lines


def run_release_memory(recipe: Recipe, output: Path, *, progress: Progress) -> ReleaseMemoryResult:
    """Releases of several sizes with the settings of the recipe."""
    return measure(output, recipe.config, progress=progress)


def measure(
    output: Path,
    config: dict[str, Any],
    *,
    progress: Progress,
    records: tuple[int, ...] = RECORDS,
    features: int = FEATURES,
    secrets: tuple[str, ...] = SECRETS,
) -> ReleaseMemoryResult:
    """Write data of each size to `output`, release it, delete it. Finished rows are kept."""
    need_proc("smaps_rollup")
    kept = output / "release-memory.rows.json"
    rows = [ReleaseRow(**r) for r in json.loads(kept.read_text())] if kept.is_file() else []
    for n in records:
        wanted = [s for s in secrets if (n, s) not in [(r.records, r.secret) for r in rows]]
        if not wanted:
            continue
        path = output / f"records-{n}.parquet"
        try:
            write_records(path, n, features, progress=progress)
            for secret in wanted:
                rows.append(release_row(path, n, secret, config, progress))
                kept.write_text(json.dumps([asdict(r) for r in rows]))
        finally:
            path.unlink(missing_ok=True)
    wanted_rows = [r for r in rows if r.records in records and r.secret in secrets]
    result = ReleaseMemoryResult(features, wanted_rows).write(output)
    kept.unlink(missing_ok=True)
    return result


def write_records(path: Path, records: int, features: int, *, progress: Progress) -> None:
    """Records around 40 centres, which the columns `two` and `ten` move; `word` is useful."""
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.standard_normal((40, features), dtype=np.float32)
    by_two = rng.standard_normal((2, features), dtype=np.float32)
    by_ten = rng.standard_normal((10, features), dtype=np.float32)
    names = ("two", "ten", "word")
    schema = pa.schema(
        [pa.field("x", pa.list_(pa.float32(), features)), *((n, pa.string()) for n in names)]
    )
    with open_sink(path, schema) as sink, progress.stage(f"writing {path.name}", records) as bar:
        for start in range(0, records, _BLOCK):
            n = min(_BLOCK, records - start)
            two = (rng.random(n) < 0.4).astype(np.int64)
            ten, word = rng.integers(0, 10, n), rng.integers(0, 40, n)
            x = rng.standard_normal((n, features), dtype=np.float32)
            x += centres[word] + by_two[two] + by_ten[ten]
            flat = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), features)
            labels = [pa.array(np.char.add(k, v.astype(str))) for k, v in
                      (("a", two), ("b", ten), ("w", word))]  # fmt: skip
            sink.write(pa.RecordBatch.from_arrays([flat, *labels], schema=schema))
            bar.advance(n)


def release_row(
    path: Path, n: int, secret: str, config: dict[str, Any], progress: Progress
) -> ReleaseRow:
    """Release a file of n records in a fresh process, and measure that."""
    out = path.with_name(f"released-{n}-{secret}")
    bundle = path.with_name(f"{out.name}.bundle")
    start = "import sys; from withhold.cli.main import run; sys.exit(run())"
    command = [sys.executable, "-c", start, "release", str(path), "--suppress", secret]
    command += ["-o", str(out), "--bundle", str(bundle)]
    command += [word for k, v in config.items() for word in ("--set", f"{k}={v}")]
    started, before = time.perf_counter(), _processor()
    try:
        with progress.stage(f"releasing {n:,} records, {secret} classes", None):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            with MemoryWatch(process.pid) as watch:
                _, told = process.communicate()
        if process.returncode not in (0, 1):
            raise UserError(f"a release of {n:,} records failed: {told.decode()[-300:]}")
        seconds = time.perf_counter() - started
        certificate = ReleaseCertificate.from_json(out / "certificate.json")
        claim = certificate.attributes[secret].release
        assert claim is not None
        assert claim.plan is not None
        return ReleaseRow(
            n,
            secret,
            certificate.codes,
            round(seconds, 1),
            round(_processor() - before, 1),
            watch.peak / 2**30,
            watch.first / 2**30,
            claim.plan.unequal,
            claim.plan.one,
            claim.floor,
        )
    finally:
        for folder in (out, bundle, path.with_name(f"{bundle.name}.partial")):
            shutil.rmtree(folder, ignore_errors=True)
        for ending in ("*.rows.*", "report.html"):
            for beside in path.parent.glob(f"{bundle.name}.{ending}"):
                beside.unlink()


def _processor() -> float:
    """Seconds of processor time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
