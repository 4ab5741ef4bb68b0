"""`withhold bench server-load`: a server on the loopback address under load, kills and fuzzing.

Everything is bounded: the calls by seconds, the kills and the fuzzed requests by number, and the
fuzzing also by seconds. Nothing but the loopback address is reached.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from withhold.bench.process_memory import need_proc
from withhold.bench.recipe import Recipe
from withhold.bench.result_table import BenchResult, Cells
from withhold.bench.server_clients import Call, TimedCalls, time_call
from withhold.bench.server_fuzz import Fuzzed, fuzz
from withhold.bench.server_kills import Kills, kill_under_load
from withhold.bench.server_process import ServerProcess
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count

API = "/api/v1"


class LoadSizes(BaseModel):
    """The settings of the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    records: int = Field(200, ge=20, description="rows of the table")
    clients: tuple[int, ...] = Field((1, 4, 16), description="clients at the same time")
    seconds: float = Field(
        10, gt=0, le=600, description="of every call with every number of clients"
    )
    workers: int = Field(2, ge=1, le=64, description="jobs that run at the same time")
    kills: int = Field(200, ge=0, le=10_000)
    kill_clients: int = Field(4, ge=1, le=64, description="clients while the server is killed")
    fuzzed: int = Field(10_000, ge=0, le=1_000_000, description="requests; 0: none")
    fuzz_seconds: float = Field(3600, gt=0, description="time limit of the fuzzing")


@dataclass(frozen=True)
class ServerLoad(BenchResult):
    """Times of calls, memory of the server in MiB, kills and fuzzed requests."""

    cores: int
    workers: int
    timed: tuple[TimedCalls, ...]
    memory_before: float
    memory_after: float
    kills: Kills | None
    fuzzed: Fuzzed | None
    command, file = "server-load", "server-load.json"
    left = 1

    @property
    def title(self) -> str:
        """What was measured."""
        return "A server under load, kills and fuzzing"

    @property
    def sound(self) -> bool:
        """No job was lost or run twice, and no answer was a server error that is not documented."""
        kept = self.kills is None or self.kills.lost == self.kills.twice == 0
        return kept and (self.fuzzed is None or not self.fuzzed.errors)

    def tables(self) -> list[tuple[str, Cells]]:
        """Calls, kills, fuzzing."""
        head = ["call", "clients", "requests", "a second", "p50, ms", "p99, ms", "answers"]
        lines = [
            [
                t.call,
                str(t.clients),
                f"{t.requests:,}",
                f"{t.per_second:,.1f}",
                f"{t.p50:,.1f}",
                f"{t.p99:,.1f}",
                _counts(t.answers),
            ]
            for t in self.timed
        ]
        found: list[tuple[str, Cells]] = [("Calls", (head, lines))]
        if self.kills is not None:
            k = self.kills
            head = ["kills", "accepted", "lost", "run twice", "unanswered", "two workers or more"]
            line = [k.kills, k.accepted, k.lost, k.twice, k.unanswered, k.again]
            restart = f"{k.restart:.2f} / {k.worst_restart:.2f}"
            shown = [[*(f"{n:,}" for n in line), restart, _counts(k.answers)]]
            found.append(("Kills under load", ([*head, "restart, s", "answers"], shown)))
        if self.fuzzed is not None:
            f = self.fuzzed
            shown = [[f"{f.requests:,}", str(f.operations), f"{f.errors:,}", _counts(f.answers)]]
            head = ["requests", "operations", "server errors", "answers"]
            found.append(("Fuzzed requests", (head, shown)))
        return found

    @property
    def legend(self) -> str:
        """What the columns mean, and the aims."""
        return (
            f"{self.cores} cores, {self.workers} jobs at a time. inspect: a question that was asked"
            " before, answered from the database; transform: a table in and out, through a worker"
            f" process. Memory of the server: {self.memory_before:.0f} MiB before the calls,"
            f" {self.memory_after:.0f} MiB after them. accepted: jobs answered with 202; lost: of"
            " those, not done in the end; run twice: the action ran to its end more than once;"
            " unanswered: queued, but the kill came before the answer; restart: seconds until the"
            " server answers again, median / worst. server errors: 5xx except 504 and 507, which"
            " are documented. answers: how many by status. Aims: 0 lost, 0 run twice, 0 server"
            f" errors: {'met' if self.sound else 'NOT MET'}."
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return asdict(self) | {"sound": self.sound}


def run_server_load(recipe: Recipe, output: Path, *, progress: Progress) -> ServerLoad:
    """Start a server in the folder `output`, and measure it; nothing is left running."""
    need_proc("status")
    sizes = LoadSizes(**recipe.data_settings)
    folder = output / "served"
    shutil.rmtree(folder, ignore_errors=True)
    # No client is refused while calls are timed, and few jobs wait when the last kill is over.
    queued = str(max(*sizes.clients, 4))
    fixed = ("--workers", str(sizes.workers), "--most-queued", queued)
    server = ServerProcess(folder, *fixed, "--answer-seconds", "120")
    try:
        dataset, bundle, calls = _prepared(server, sizes)
        before = server.resident
        timed = []
        with progress.stage("calls", len(calls) * len(sizes.clients)) as stage:
            for call in calls:
                for clients in sizes.clients:
                    timed.append(time_call(server, call, clients=clients, seconds=sizes.seconds))
                    stage.advance()
        after = server.resident
        job = {"kind": "inspect", "dataset": dataset}
        kills = (
            kill_under_load(
                server, job, kills=sizes.kills, clients=sizes.kill_clients, progress=progress
            )
            if sizes.kills
            else None
        )
        fuzzed = _fuzzed(server, sizes, dataset, bundle, progress) if sizes.fuzzed else None
    finally:
        with suppress(OSError, UserError):
            server.end()
        server.process.kill()
    shutil.rmtree(folder, ignore_errors=True)
    return ServerLoad(
        core_count(), sizes.workers, tuple(timed), before / 2**20, after / 2**20, kills, fuzzed
    ).write(output)


def _prepared(server: ServerProcess, sizes: LoadSizes) -> tuple[str, str, Sequence[Call]]:
    """A dataset, a bundle that was fitted to it, and the calls."""
    table = _table(sizes.records)
    dataset = server.ask("POST", f"{API}/datasets?format=csv", table)["id"]
    reading = {"features": "f_*"}
    fit = {"kind": "fit", "dataset": dataset, "suppress": ["secret"], "method": "constant"}
    bundle = server.ask("POST", f"{API}/jobs", {**fit, "reading": reading})["id"]
    made = server.until_over(bundle)
    if made["state"] != "done":
        raise UserError(f"the fit on the server failed: {made['error']}")
    server.ask("POST", f"{API}/datasets/{dataset}/inspect", {})
    calls = (
        Call("healthz", "GET", "/healthz"),
        Call("inspect", "POST", f"{API}/datasets/{dataset}/inspect", b"{}"),
        Call("transform", "POST", f"{API}/bundles/{bundle}/transform", table, "text/csv"),
    )
    return dataset, bundle, calls


def _fuzzed(
    server: ServerProcess, sizes: LoadSizes, dataset: str, bundle: str, progress: Progress
) -> Fuzzed:
    """Fuzz a server that answers at once instead of waiting for work."""
    server.stop()
    server.options = (*server.options[:4], "--answer-seconds", "0.5")
    server.start()
    ids = {"datasets": dataset, "jobs": bundle, "bundles": bundle}
    return fuzz(server, ids, requests=sizes.fuzzed, seconds=sizes.fuzz_seconds, progress=progress)


def _table(records: int) -> bytes:
    """Four features and two labels as CSV, the same at every run."""
    rng = np.random.default_rng(0)
    secret = rng.integers(0, 2, records)
    x = rng.standard_normal((records, 4)) + secret[:, None]
    out = io.StringIO()
    out.write("f_0,f_1,f_2,f_3,secret,kept\n")
    for row, s, k in zip(x, secret, rng.integers(0, 3, records), strict=True):
        out.write(",".join(f"{v:.4f}" for v in row) + f",s{s},k{k}\n")
    return out.getvalue().encode()


def _counts(answers: dict[int, int]) -> str:
    return ", ".join(f"{status}: {n:,}" for status, n in sorted(answers.items()))
