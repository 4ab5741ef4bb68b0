"""`withhold serve` as a process of its own, which can be killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

START = "from withhold.cli.main import run; run()"


class ServerProcess:
    """A server on a folder; its token is the one of the first start."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        self.token = ""
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", START, "serve", "--folder", str(self.folder)]
        self.log = (self.folder.parent / "server.log").open("ab")
        self.process = subprocess.Popen(
            [*command, "--port", "0", *self.options],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().rpartition(" ")[2].strip()
        if not self.token:
            self.token = self.process.stdout.readline().rpartition(" ")[2].strip()

    def kill(self) -> None:
        """Kill the server alone, as the system does when memory is short."""
        self.process.kill()
        self.close()

    def stop(self) -> int:
        """Stop it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        self.close()
        return code

    def close(self) -> None:
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.log.close()

    def ask(self, path: str, body: bytes | dict[str, Any] | None = None) -> Any:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(
            f"{self.address}api/v1/{path}",
            data,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except HTTPError as error:
            raise AssertionError(error.read()) from error

    def until_over(self, id: str, seconds: float = 120) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while (job := self.ask(f"jobs/{id}"))["state"] in ("queued", "running"):
            assert time.monotonic() < end, job
            time.sleep(0.1)
        found: dict[str, Any] = job
        return found

    def worker(self, id: str) -> int:
        """The process of a running job, once it has one."""
        from withhold.server.database import Database
        from withhold.server.job_store import JobStore

        database = Database(self.folder / "jobs.sqlite")
        try:
            while (job := JobStore(database).find(id)) is None or job.pid is None:
                time.sleep(0.02)
            return job.pid
        finally:
            database.close()


def kill_group(pid: int) -> None:
    os.killpg(pid, signal.SIGKILL)
