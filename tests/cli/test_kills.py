"""Kill `fit` and `transform` at random moments: nothing half-written, the same bytes in the end.

`WITHHOLD_KILLS=50` (`make kills`) kills 50 times; without it, 4 times. What a kill hit is told at
the end: run with `-s` to read it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.bundle import load_bundle
from withhold.data.worlds import two_attributes
from withhold.dataset import Dataset

from .conftest import snapshot

WITHHOLD = Path(sys.executable).with_name("withhold")
KILLS = int(os.environ.get("WITHHOLD_KILLS", "4"))
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
       "--config", "mass.yaml", "-q", "-o")  # fmt: skip
TRANSFORM = ("transform", "bundle", "large.parquet", "-q", "-o")

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data to fit on, and data that take a while to transform."""
    folder = tmp_path_factory.mktemp("kills")
    world = two_attributes(600, 24, separation_suppress=2, separation_preserve=2, seed=1)
    Dataset.from_arrays(world.x, world.attributes).write(folder / "data.parquet")
    (folder / "mass.yaml").write_text(json.dumps(CONFIG))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, 24), dtype=np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 24)
    pq.write_table(pa.table({"x": lists, "n": np.arange(ROWS)}), folder / "large.parquet")
    return folder


@dataclass
class Killer:
    """Runs one command again and again, killing it, until enough kills landed and it is done."""

    ground: Path
    arguments: tuple[str, ...]
    output: Path
    kills: int
    seed: int
    hit: Counter[str] = field(default_factory=Counter)

    def start(self) -> subprocess.Popen[bytes]:
        command = [str(WITHHOLD), *self.arguments, self.output.name]
        with self.log.open("wb") as log:
            return subprocess.Popen(command, cwd=self.ground, stderr=log)

    @property
    def log(self) -> Path:
        """What the command says, for when it fails; outside the ground, which must stay tidy."""
        return self.ground.with_name("kills.log")

    def unbroken(self) -> float:
        """Seconds of a run that nobody disturbs, the first one's caches aside."""
        started = time.monotonic()
        process = self.start()
        assert process.wait() == 0, self.log.read_text()
        return time.monotonic() - started

    def run(self, seconds: float) -> None:
        """Kill at moments drawn evenly over a run; a run that finishes first starts anew."""
        rng = random.Random(self.seed)
        left = self.kills
        while left:
            process = self.start()
            # A resumed run is shorter, so that the later moments are often past its end.
            time.sleep(rng.uniform(0, seconds))
            if process.poll() is None:
                where = self.where()
                process.kill()
                process.wait()
                self.hit[where] += 1
                left -= 1
                self.check()
            else:
                assert process.returncode == 0, self.log.read_text()
                self.check()
                assert self.output.exists()
                self.check_end()
                self.remove()
        process = self.start()
        assert process.wait() == 0, self.log.read_text()
        self.check_end()

    def where(self) -> str:
        """What the command is at, from the files it has written; a moment before the kill."""
        if self.output.exists():
            return "after"
        if (self.ground / f".{self.output.name}.making").exists():
            return "saving the bundle"
        if (self.ground / f".{self.output.name}.partial").exists():
            return "writing the release"
        work = self.ground / f"{self.output.name}.partial"
        if not work.exists():
            return "start-up"
        names = [p.name for p in work.iterdir()]
        saving = any(n.startswith(".") for n in names)
        for stage in ("modifier", "contrastive", "attribute_useful", "attribute_secret"):
            if any(stage in n for n in names):
                return f"stage {stage}" + (", saving" if saving else "")
        return "before the first epoch"

    def check(self) -> None:
        """Nothing half-written stands under the final name."""
        if not self.output.exists():
            return
        if self.output.suffix == ".parquet":
            table = pq.read_table(self.output)
            assert table.num_rows == ROWS
            assert table["n"].to_pylist() == list(range(ROWS))
        else:
            load_bundle(self.output)

    def check_end(self) -> None:
        """Nothing is left beside the result."""
        assert self.leftovers() == []

    def leftovers(self) -> list[str]:
        known = {"data.parquet", "mass.yaml", "large.parquet", "bundle", "release.parquet"}
        return sorted({p.name for p in self.ground.iterdir()} - known - {self.output.name})

    def remove(self) -> None:
        if self.output.is_dir():
            shutil.rmtree(self.output)
        else:
            self.output.unlink()


def test_fit(ground: Path) -> None:
    whole = Killer(ground, FIT, ground / "bundle", 0, 0)
    seconds = whole.unbroken()
    killer = Killer(ground, FIT, ground / "killed", KILLS // 2, seed=11)
    killer.run(seconds)
    assert snapshot(killer.output) == snapshot(whole.output)
    killer.remove()
    tell("fit", seconds, killer)


def test_transform(ground: Path) -> None:
    if not (ground / "bundle").exists():
        Killer(ground, FIT, ground / "bundle", 0, 0).unbroken()
    whole = Killer(ground, TRANSFORM, ground / "release.parquet", 0, 0)
    seconds = whole.unbroken()
    killer = Killer(ground, TRANSFORM, ground / "killed.parquet", KILLS - KILLS // 2, seed=12)
    killer.run(seconds)
    assert killer.output.read_bytes() == whole.output.read_bytes()
    killer.remove()
    tell("transform", seconds, killer)


def tell(command: str, seconds: float, killer: Killer) -> None:
    hits = ", ".join(f"{where}: {count}" for where, count in sorted(killer.hit.items()))
    print(f"\n{command} ({seconds:.1f} s unbroken), {killer.kills} kills: {hits}")
