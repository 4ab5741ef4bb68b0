"""`withhold serve` as a process of its own, which can be killed and started again."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from withhold.bench.server_process import ServerProcess as _ServerProcess
from withhold.server.database import Database
from withhold.server.job_store import JobStore


class ServerProcess(_ServerProcess):
    """A server on a folder; its token is the one of the first start."""

    def call(self, path: str, body: bytes | dict[str, Any] | None = None) -> Any:
        """The answer of the API: a POST if there is a body."""
        return self.ask("GET" if body is None else "POST", f"/api/v1/{path}", body)

    def worker(self, id: str) -> int:
        """The process that runs a job, once it does."""
        database = Database(self.folder / "jobs.sqlite")
        try:
            while (job := JobStore(database).find(id)) is None or job.pid is None:
                time.sleep(0.02)
            return job.pid
        finally:
            database.close()


def kill_group(pid: int) -> None:
    os.killpg(pid, signal.SIGKILL)
