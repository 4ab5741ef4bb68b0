"""One fit of `codebook` in its own process: its seconds, its memory, and how good the channel is.

A process that has fitted before keeps some of that memory, so each fit gets a fresh one:
`python -m withhold.bench.fit_in_subprocess FOLDER`. It reads the features from x.npy, which takes
no further memory, and everything else from table.parquet and task.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from withhold.bench.fit_row import bench_key
from withhold.bench.process_memory import memory_of, need_proc
from withhold.certificate.bound import Tally, plug_in, upper_bound
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.methods import Channel, Journal, get_method, read_config
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

ROWS = 2048  # records whose probabilities are held at once
DECODED = 20_000  # fitted records that the decoder of the useful attribute learns from
CONFIDENCE = 0.95


@dataclass(frozen=True)
class SubprocessFit:
    """The cost of a fit, and what its channel does on the test part.

    `gibibytes` is the peak of resident memory beyond that of the data, `bound` the certificate of
    the suppressed attribute, and `useful` what the best table from codes to classes reads.
    """

    records: int
    features: int
    classes: int
    codes: int
    seconds: float
    gibibytes: float
    data_gibibytes: float
    floor: float | None
    bound: float | None
    useful: float | None


def fit_in_subprocess(
    data: Dataset, suppress: str, config: dict[str, Any], *, useful: str = "", folder: Path
) -> SubprocessFit:
    """Fit on the training part of `data` in a fresh process; its files are put under `folder`."""
    need_proc("status")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        put(Path(place), data, suppress, config, useful)
        command = [sys.executable, "-m", "withhold.bench.fit_in_subprocess", place]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        told = done.stderr.strip().splitlines() or ["no message"]
        raise UserError(f"a fit of {len(data):,} records in its own process failed: {told[-1]}")
    return SubprocessFit(**json.loads(done.stdout))


def put(folder: Path, data: Dataset, suppress: str, config: dict[str, Any], useful: str) -> None:
    """Write what `fit_here` reads."""
    np.save(folder / "x.npy", data.x)
    pq.write_table(data.table, folder / "table.parquet")
    task = {"suppress": suppress, "useful": useful, "config": config}
    (folder / "task.json").write_text(json.dumps(task))


def fit_here(folder: Path) -> SubprocessFit:
    """Fit in this process, which must be fresh for the memory to be that of the fit."""
    task = json.loads((folder / "task.json").read_text())
    data = Dataset.from_arrays(np.load(folder / "x.npy"), pq.read_table(folder / "table.parquet"))
    suppress, useful = task["suppress"], task["useful"]
    attribute = data.attribute(suppress)
    method, config = get_method("codebook"), read_config("codebook", task["config"])
    # Reset the peak, which so far is that of reading.
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_of("self", "status", "VmRSS:")
    started = time.perf_counter()
    journal = Journal()
    journal.use_key(bench_key(0))
    channel = method.fit(data, Roles.of(suppress), config, Silent(), seed=0, journal=journal)
    seconds = time.perf_counter() - started
    beyond = memory_of("self", "status", "VmHWM:") - before
    assert isinstance(channel, Channel)
    train, test = data.part("train"), data.part("test")
    tested = bool(len(test))
    return SubprocessFit(
        len(train),
        data.dimension,
        int((train.attribute(suppress).counts > 0).sum()),
        len(channel.codes),
        round(seconds, 2),
        beyond / 2**30,
        data.x.nbytes / 2**30,
        test.attribute(suppress).majority if tested else None,
        _bound(channel, test, suppress, len(attribute.classes)) if tested else None,
        _decoded(channel, train, test, useful) if tested and useful else None,
    )


def _bound(channel: Channel, test: Dataset, name: str, classes: int) -> float:
    """The certificate of a suppressed attribute, by record."""
    table = _tally(channel, test, name, classes)
    return upper_bound(plug_in(table, len(test)), len(test), CONFIDENCE).value


def _decoded(channel: Channel, train: Dataset, test: Dataset, name: str) -> float:
    """The accuracy of naming the likeliest class of a code, learned from fitted records."""
    classes = len(train.attribute(name).classes)
    drawn = np.random.default_rng(0).permutation(len(train))[:DECODED]
    guess = _tally(channel, train.rows(np.sort(drawn)), name, classes).argmax(axis=0)
    table = _tally(channel, test, name, classes)
    return float(table[guess, np.arange(len(guess))].sum() / table.sum())


def _tally(channel: Channel, data: Dataset, name: str, classes: int) -> Any:
    """Summed probabilities, class by code: (classes, N)."""
    codes = data.attribute(name).codes
    tally = Tally(classes, len(channel.codes))
    for start in range(0, len(data), ROWS):
        rows = slice(start, start + ROWS)
        tally.add(channel.draw(data.x[rows]), codes[rows])
    return tally.table


if __name__ == "__main__":
    print(json.dumps(asdict(fit_here(Path(sys.argv[1])))))
