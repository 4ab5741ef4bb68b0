"""Kill a server under load, start it again, and count jobs that were lost or run twice."""

from __future__ import annotations

import http.client
import json
import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from withhold.bench.server_process import ENDED, ServerProcess
from withhold.core.errors import UserError
from withhold.core.progress import Progress

_ACCEPTED = 202
_DRAIN = 600.0  # seconds for the jobs that wait after the last kill


@dataclass(frozen=True)
class Kills:
    """What became of the jobs that the server accepted.

    accepted: jobs that were answered with 202; lost: of those, jobs that are not in the database
    or did not end as done; twice: jobs whose action ran to its end more than once; unanswered:
    jobs in the database whose client had no answer because of a kill; again: jobs that needed more
    than one worker; restart: seconds from a kill to the first answer (median, worst).
    """

    kills: int
    accepted: int
    lost: int
    twice: int
    unanswered: int
    again: int
    restart: float
    worst_restart: float
    answers: dict[int, int]


def kill_under_load(
    server: ServerProcess, job: dict[str, Any], *, kills: int, clients: int, progress: Progress
) -> Kills:
    """Clients queue the same job again and again while the server is killed `kills` times."""
    before = set(_jobs(server))
    load = _Load(server, job)
    threads = [threading.Thread(target=load.client, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    moments = random.Random(0)
    restarts = []
    try:
        with progress.stage("killing the server", kills) as stage:
            for _ in range(kills):
                time.sleep(moments.uniform(0.05, 0.8))
                began = time.perf_counter()
                with load.turn:
                    server.kill()
                    server.start()
                    server.asked("GET", "/healthz")
                restarts.append(time.perf_counter() - began)
                stage.advance()
    finally:
        load.over.set()
        for thread in threads:
            thread.join()
    jobs = {id: found for id, found in _drained(server, progress).items() if id not in before}
    lost = sum(1 for id in load.accepted if id not in jobs or jobs[id]["state"] != "done")
    return Kills(
        kills=kills,
        accepted=len(load.accepted),
        lost=lost,
        twice=sum(found["runs"] > 1 for found in jobs.values()),
        unanswered=len(set(jobs) - set(load.accepted)),
        again=sum(found["attempts"] > 1 for found in jobs.values()),
        restart=float(np.median(restarts)) if restarts else 0.0,
        worst_restart=max(restarts, default=0.0),
        answers=dict(load.answers),
    )


class _Load:
    """Clients that queue jobs and look at them; a connection that breaks is opened again."""

    def __init__(self, server: ServerProcess, job: dict[str, Any]) -> None:
        self.server, self.job = server, job
        self.over, self.turn = threading.Event(), threading.Lock()
        self.accepted: list[str] = []
        self.answers: Counter[int] = Counter()

    def client(self) -> None:
        """Ask until it is over."""
        while not self.over.is_set():
            with suppress(OSError, http.client.HTTPException, ValueError):
                with self.turn:  # the address changes at a start
                    over = self.server.connect(10)
                with closing(over):
                    while not self.over.is_set():
                        self._queue(over)
            self.over.wait(0.02)

    def _queue(self, over: http.client.HTTPConnection) -> None:
        status, data = self.server.asked("POST", "/api/v1/jobs", self.job, over=over)
        self.answers[status] += 1
        if status == _ACCEPTED:
            self.accepted.append(json.loads(data)["id"])
        elif status != http.client.TOO_MANY_REQUESTS:
            raise UserError(f"a job was answered with {status}: {data[:200]!r}")
        if self.accepted:
            status, _ = self.server.asked("GET", f"/api/v1/jobs/{self.accepted[-1]}", over=over)
            self.answers[status] += 1
        self.over.wait(0.01)


def _drained(server: ServerProcess, progress: Progress) -> dict[str, dict[str, Any]]:
    """All jobs once none waits or runs."""
    end = time.monotonic() + _DRAIN
    with progress.stage("waiting for the jobs", None):
        while True:
            jobs = _jobs(server)
            if all(found["state"] in ENDED for found in jobs.values()):
                return jobs
            if time.monotonic() > end:
                return jobs  # those that have not ended count as lost
            time.sleep(0.5)


def _jobs(server: ServerProcess) -> dict[str, dict[str, Any]]:
    """Every job in the database: state, workers that were started, runs to the end."""
    with closing(sqlite3.connect(server.folder / "jobs.sqlite", timeout=30)) as database:
        rows = database.execute("SELECT id, state, attempts, runs FROM jobs").fetchall()
    return {id: {"state": state, "attempts": a, "runs": r} for id, state, a, r in rows}
