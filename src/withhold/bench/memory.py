"""`withhold bench memory`: peak memory of reading a large dataset, relative to its size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from withhold.bench.process_memory import figure_of, need_proc
from withhold.bench.result_table import BenchResult, Cells
from withhold.core.progress import Progress
from withhold.records.writers import open_sink

RECORDS, FEATURES = 1_000_000, 512

_READ = """
import sys
from withhold.records.dataset import Dataset
before = peak()
data = Dataset.read(sys.argv[1], features=sys.argv[2])
print((peak() - before) / data.x.nbytes)
"""


@dataclass(frozen=True)
class MemoryResult(BenchResult):
    """Peak resident memory of a read, less that of the imports, over the size of the features."""

    records: int
    features: int
    list_column: float
    wide_columns: float
    command, file = "memory", "memory.json"
    legend = "Peak memory over the size of the data. Aim: at most 1.3."

    @property
    def title(self) -> str:
        """The size of the data."""
        return f"Memory of reading {self.records:,} x {self.features} float32"

    def cells(self) -> Cells:
        """A line for each layout of the file."""
        ratios = {"one list column": self.list_column, "wide columns": self.wide_columns}
        return ["layout", "times its size"], [[name, f"{r:.2f}"] for name, r in ratios.items()]


def measure_memory(
    output: Path, *, progress: Progress, records: int = RECORDS, features: int = FEATURES
) -> MemoryResult:
    """Write both layouts to `output`, read each in a fresh process, delete them."""
    need_proc("status")
    ratios = []
    for kind, spec in (("list", "x"), ("wide", "f_*")):
        path = output / f"memory-{kind}.parquet"
        try:
            _write(path, kind, records, features, progress)
            ratios.append(figure_of(_READ, path, spec))
        finally:
            path.unlink(missing_ok=True)
    return MemoryResult(records, features, *ratios).write(output)


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
