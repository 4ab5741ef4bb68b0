"""Kill `fit` and `transform` at random moments: nothing half-written, the same bytes in the end.

`WITHHOLD_KILLS=50` (`make kills`) kills 50 times; without it, 4 times. What a kill hit is told at
the end: run with `-s` to read it.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.bundle.bundle import load_bundle
from withhold.core.key_file import write_key
from withhold.datasets.worlds import two_attributes
from withhold.records.dataset import Dataset
from withhold.records.writers.row_list import read_rows

from .conftest import snapshot
from .killer import KILLS, Killer, tell

ROWS = 200_000
# Epochs of a few milliseconds and many of them, so that kills hit the saving of checkpoints too.
CONFIG = {
    "hidden": [64],
    "epochs": 60,
    "batch": 64,
    "attribute_model": {"epochs": 40, "hidden": [64, 32], "batch": 64},
    "contrastive": {"epochs": 40, "batch": 64, "projection": 16},
}
FIT = ("fit", "data.parquet", "--suppress", "secret", "--preserve", "useful",
       "--method", "mass", "--config", "mass.yaml", "--key", "owner.key", "-q", "-o")  # fmt: skip
TRANSFORM = ("transform", "bundle", "large.parquet", "--keep", "n", "-q", "-o")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data to fit on, and data that take a while to transform."""
    folder = tmp_path_factory.mktemp("kills")
    world = two_attributes(600, 24, separation_suppress=2, separation_preserve=2, seed=1)
    Dataset.from_arrays(world.x, world.attributes).write(folder / "data.parquet")
    (folder / "mass.yaml").write_text(json.dumps(CONFIG))
    write_key(folder / "owner.key", bytes(range(32)))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, 24), dtype=np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 24)
    pq.write_table(pa.table({"x": lists, "n": np.arange(ROWS)}), folder / "large.parquet")
    return folder


class Knife(Killer):
    known = frozenset(
        {"data.parquet", "mass.yaml", "owner.key", "large.parquet", "bundle", "release.parquet"}
        | {"release.rows.csv", "killed.rows.csv"}
    )

    def check_output(self) -> None:
        if self.output.suffix == ".parquet":
            # Written before the release takes its name, so that it is there with it.
            rows = read_rows(self.output.with_name(f"{self.output.stem}.rows.csv"))
            np.testing.assert_array_equal(pq.read_table(self.output)["n"].to_numpy(), rows)
            assert len(rows) == ROWS
        else:
            load_bundle(self.output)


def test_fit(ground: Path) -> None:
    whole = Knife(ground, FIT, ground / "bundle")
    seconds = whole.finish()
    aims = ("checkpoint", "bundle", "renamed")
    killer = Knife(ground, FIT, ground / "killed", KILLS // 2, seed=11, aims=aims)
    killer.run(seconds)
    assert snapshot(killer.output) == snapshot(whole.output)
    killer.remove()
    tell("fit", seconds, killer)


def test_transform(ground: Path) -> None:
    if not (ground / "bundle").exists():
        Knife(ground, FIT, ground / "bundle").finish()
    whole = Knife(ground, TRANSFORM, ground / "release.parquet")
    seconds = whole.finish()
    size = whole.output.stat().st_size
    aims = ("closing", "renamed")
    count = KILLS - KILLS // 2
    killer = Knife(ground, TRANSFORM, ground / "killed.parquet", count, 12, aims, size)
    killer.run(seconds)
    assert killer.output.read_bytes() == whole.output.read_bytes()
    killer.remove()
    tell("transform", seconds, killer)
