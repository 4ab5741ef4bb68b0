"""`withhold serve` as a process on the loopback address: start, ask, kill, start again."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from withhold.bench.process_memory import memory_of
from withhold.core.errors import UserError

_START = "from withhold.cli.main import run; run()"
ENDED = ("done", "failed", "cancelled")


class ServerProcess:
    """A server on a folder. Its token is that of the first start."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        self.token = ""
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-c", _START, "serve", "--folder", str(self.folder)]
        self.log = self.log_path.open("ab")
        self.process = subprocess.Popen(
            [*command, "--port", "0", *self.options],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if not said.startswith("serving on "):
            self.close()
            raise UserError(f"the server did not start: {self.log_path.read_text()[-300:]}")
        self.address = said.split()[-1]
        if not self.token:
            self.token = self.process.stdout.readline().split()[-1]

    @property
    def log_path(self) -> Path:
        """What the server writes to standard error, over all starts."""
        return self.folder.with_name("server.log")

    def kill(self) -> None:
        """Kill the server alone, as the system does when memory is short; its workers go on."""
        self.process.kill()
        self.close()

    def stop(self) -> int:
        """Stop it and its workers as Ctrl-C does; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        self.close()
        return code

    def close(self) -> None:
        """Wait for the end of the process."""
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.log.close()

    def end(self) -> None:
        """Leave nothing running: workers of servers that were killed are stopped too."""
        if self.process.poll() is not None:
            self.close()
            self.start()
        for job in self.ask("GET", "/api/v1/jobs?most=1000"):
            if job["state"] not in ENDED:
                self.asked("POST", f"/api/v1/jobs/{job['id']}/cancel")
        self.stop()

    @property
    def resident(self) -> int:
        """The memory of the server alone, in bytes."""
        return memory_of(str(self.process.pid), "status", "VmRSS:")

    def connect(self, seconds: float = 60) -> http.client.HTTPConnection:
        """A connection of a client, which can be used again."""
        place = urlsplit(self.address)
        assert place.hostname is not None
        return http.client.HTTPConnection(place.hostname, place.port, timeout=seconds)

    def asked(
        self,
        method: str,
        path: str,
        body: bytes | dict[str, Any] | None = None,
        *,
        kind: str = "application/json",
        over: http.client.HTTPConnection | None = None,
    ) -> tuple[int, bytes]:
        """Status and body of an answer."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        connection = over or self.connect()
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            if over is None:
                connection.close()

    def ask(self, method: str, path: str, body: bytes | dict[str, Any] | None = None) -> Any:
        """The JSON of an answer that must be a success."""
        status, data = self.asked(method, path, body)
        if status >= 300:
            raise UserError(f"{method} {path.partition('?')[0]}: {status} {data[:200]!r}")
        return json.loads(data) if data else None

    def until_over(self, id: str, seconds: float = 120) -> dict[str, Any]:
        """A job when it has ended."""
        end = time.monotonic() + seconds
        while (job := self.ask("GET", f"/api/v1/jobs/{id}"))["state"] not in ENDED:
            if time.monotonic() > end:
                raise UserError(f"a job of the server took longer than {seconds:.0f} s")
            time.sleep(0.1)
        found: dict[str, Any] = job
        return found
