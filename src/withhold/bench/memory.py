"""`withhold bench memory`: the memory that reading a large dataset takes, over its size."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.records.files import open_sink

RECORDS, FEATURES = 1_000_000, 512

# Run in a process of its own: the peak of this one would be that of writing the file.
_READ = """
import sys
from withhold.records.dataset import Dataset
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
before = peak()
data = Dataset.read(sys.argv[1], features=sys.argv[2])
print((peak() - before) / data.x.nbytes)
"""


@dataclass(frozen=True)
class MemoryResult:
    """Peak resident memory of a read, less that of the imports, over the size of the features."""

    records: int
    features: int
    list_column: float
    wide_columns: float

    def to_dict(self) -> dict[str, float]:
        """Everything, for a machine."""
        return asdict(self)

    def print(self) -> None:
        """The figures in a terminal."""
        print(
            f"reading {self.records:,} x {self.features} float32 takes {self.list_column:.2f} times"
            f" its size (one list column), {self.wide_columns:.2f} times (wide columns);"
            " aim: at most 1.3"
        )


def measure_memory(
    output: Path, *, progress: Progress, records: int = RECORDS, features: int = FEATURES
) -> MemoryResult:
    """Write both layouts to `output`, read each in a fresh process, delete them."""
    if not Path("/proc/self/status").exists():
        raise UserError("bench memory reads /proc/self/status, which this system does not have")
    ratios = {}
    for kind in ("list", "wide"):
        path = output / f"memory-{kind}.parquet"
        try:
            _write(path, kind, records, features, progress)
            spec = "x" if kind == "list" else "f_*"
            command = [sys.executable, "-c", _READ, str(path), spec]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            ratios[kind] = float(done.stdout)
        finally:
            path.unlink(missing_ok=True)
    result = MemoryResult(records, features, ratios["list"], ratios["wide"])
    write_bytes(output / "memory.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    return result


def _write(path: Path, kind: str, records: int, features: int, progress: Progress) -> None:
    if kind == "list":
        schema = pa.schema([pa.field("x", pa.list_(pa.float32(), features))])
    else:
        schema = pa.schema([pa.field(f"f_{i}", pa.float32()) for i in range(features)])
    schema = schema.append(pa.field("label", pa.string()))
    rng = np.random.default_rng(0)
    with open_sink(path, schema) as sink, progress.stage(f"writing {path.name}", records) as bar:
        for start in range(0, records, 8192):
            n = min(8192, records - start)
            x = rng.standard_normal((n, features), dtype=np.float32)
            labels = pa.array(np.where(x[:, 0] > 0, "yes", "no"))
            if kind == "list":
                flat = pa.array(x.reshape(-1))
                columns = [pa.FixedSizeListArray.from_arrays(flat, features), labels]
            else:
                columns = [*(pa.array(column) for column in x.T), labels]
            sink.write(pa.RecordBatch.from_arrays(columns, schema=schema))
            bar.advance(n)
