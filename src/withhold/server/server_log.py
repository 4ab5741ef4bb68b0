"""Structured logs: one JSON object a line. They hold ids and figures, never data or names."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TextIO


class ServerLog:
    """Writes events to a stream, standard error by default."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def event(
        self,
        event: str,
        *,
        job: str | None = None,
        kind: str | None = None,
        state: str | None = None,
        method: str | None = None,
        route: str | None = None,
        status: int | None = None,
        error: str | None = None,
        where: str | None = None,
        code: int | None = None,
        count: int | None = None,
        attempt: int | None = None,
        seconds: float | None = None,
        sent: int | None = None,
    ) -> None:
        """One line. The fields are fixed, so that no data can slip in."""
        given = {name: value for name, value in locals().items() if name not in ("self", "event")}
        line = {"time": round(time.time(), 3), "event": event}
        line |= {name: value for name, value in given.items() if value is not None}
        with self._lock:
            print(json.dumps(line), file=self._stream or sys.stderr, flush=True)
