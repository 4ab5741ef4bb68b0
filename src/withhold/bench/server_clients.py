"""Clients of a server: threads that ask one after the other, for a limited time."""

from __future__ import annotations

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from withhold.bench.server_process import ServerProcess


@dataclass(frozen=True)
class Call:
    """A request that is repeated."""

    name: str
    method: str
    path: str
    body: bytes | None = None
    kind: str = "application/json"


@dataclass(frozen=True)
class TimedCalls:
    """Requests of one call. Times are in milliseconds; answers: how many by status."""

    call: str
    clients: int
    requests: int
    per_second: float
    p50: float
    p99: float
    answers: dict[int, int]


def time_call(server: ServerProcess, call: Call, *, clients: int, seconds: float) -> TimedCalls:
    """Repeat a call with this many clients; a request that has begun is waited for."""
    took: list[float] = []
    answers: Counter[int] = Counter()
    end = time.monotonic() + seconds

    def client(over: http.client.HTTPConnection) -> None:
        while time.monotonic() < end:
            began = time.perf_counter()
            status, _ = server.asked(call.method, call.path, call.body, kind=call.kind, over=over)
            took.append(1e3 * (time.perf_counter() - began))
            answers[status] += 1

    began = time.perf_counter()
    run_clients(server, client, clients)
    span = time.perf_counter() - began
    p50, p99 = (float(np.percentile(took, q)) for q in (50, 99))
    return TimedCalls(call.name, clients, len(took), len(took) / span, p50, p99, dict(answers))


def run_clients(
    server: ServerProcess, client: Callable[[http.client.HTTPConnection], None], clients: int
) -> None:
    """Run a function in threads, each with a connection of its own; raise the first error."""
    errors: list[BaseException] = []

    def run() -> None:
        over = server.connect()
        try:
            client(over)
        except BaseException as error:
            errors.append(error)
        finally:
            over.close()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
