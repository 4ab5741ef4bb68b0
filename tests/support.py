"""What tests of several folders share: a progress that remembers, and small datasets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.progress import Stage
from withhold.datasets.worlds import World
from withhold.records.dataset import Dataset

# A `mass` that trains in a fraction of a second.
TINY: dict[str, Any] = {
    "hidden": [8],
    "epochs": 2,
    "batch": 32,
    "attribute_model": {"epochs": 2, "hidden": [8, 6], "batch": 32},
    "contrastive": {"epochs": 2, "batch": 32, "projection": 5},
}


def key_of(seed: int) -> bytes:
    """A key for fits that are compared byte by byte; another one for another seed."""
    return bytes([(seed + 1) % 256]) * 32


class Interrupted(Exception):
    """The power went."""


class Recorder:
    """A progress that remembers what was said, and can cut the power after some epochs."""

    def __init__(self, *, stop_in: str | None = None, after: int = 0) -> None:
        self.lines: list[str] = []
        self.steps: dict[str, int] = {}
        self.stop_in, self.after = stop_in, after

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        self.steps[name] = 0
        yield _Recorded(self, name)

    def say(self, line: str) -> None:
        self.lines.append(line)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class _Recorded:
    def __init__(self, owner: Recorder, name: str) -> None:
        self.owner, self.name = owner, name

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.owner.steps[self.name] += steps
        if self.name == self.owner.stop_in and self.owner.steps[self.name] >= self.owner.after:
            raise Interrupted(self.name)


def of_world(world: World) -> Dataset:
    """The dataset of a world, its split included."""
    return Dataset.from_arrays(world.x, world.attributes)


def mixed(n: int = 160, d: int = 6, *, seed: int = 0) -> Dataset:
    """Everything at once: binary, three classes, tags, missing labels, an id, a constant column.

    `secret` moves the first feature, `colour` the second, `tags` the third and fourth.
    """
    rng = np.random.default_rng(seed)
    secret, colour = rng.integers(0, 2, n), rng.integers(0, 3, n)
    tags = rng.integers(0, 2, (n, 2))
    x = rng.standard_normal((n, d))
    x[:, 0] += 4 * secret
    x[:, 1] += 3 * colour
    x[:, 2:4] += 3 * tags
    x = np.column_stack([100 * x, np.full(n, 7.0)])
    missing = rng.random((2, n)) < 0.1
    table = {
        "secret": [None if gone else f"s{v}" for v, gone in zip(secret, missing[0], strict=True)],
        "colour": pa.array(np.array(["red", "green", "blue"])[colour].tolist()),
        "tags": [
            None if gone else [t for t, on in zip("ab", row, strict=True) if on]
            for row, gone in zip(tags, missing[1], strict=True)
        ],
        "id": [f"record {i}" for i in range(n)],
        "split": np.array(["train", "train", "train", "val", "test"])[np.arange(n) % 5].tolist(),
    }
    return Dataset.from_arrays(x.astype(np.float32), table, name="mixed")


def codes(dataset: Dataset, name: str) -> npt.NDArray[np.int64]:
    """The integer labels of an attribute."""
    return dataset.attribute(name).codes


# Code for a process of its own: `peak()` is its highest resident memory so far, in bytes.
PEAK = """
import io, re, sys
import pyarrow as pa, pyarrow.parquet as pq

def peak():
    # Not ru_maxrss: a child begins with the peak of the process that forked it, here pytest.
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read()).group(1))

# A first small reading brings in the decoder's code, which is no part of the rule.
small = io.BytesIO()
pq.write_table(pa.table({"x": [[1.0]]}), small)
pq.ParquetFile(small).read()
"""
