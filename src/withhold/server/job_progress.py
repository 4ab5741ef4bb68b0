"""Progress of a worker, written to the database so that the server can show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from withhold.core.progress import Stage
from withhold.server.job_store import JobStore

EVERY = 0.3  # seconds between two writes


class JobProgress:
    """A `Progress`: the stages that are open, the outermost first, each with the time left."""

    def __init__(
        self, store: JobStore, job: str, *, clean: Callable[[str], str] = lambda line: line
    ) -> None:
        """`clean` removes from a message what the client must not see."""
        self.store, self.job, self.clean = store, job, clean
        self._open: list[_JobStage] = []
        self._written = 0.0

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """Yield a stage that is shown until the block ends."""
        stage = _JobStage(self, name, total)
        self._open.append(stage)
        self.write()
        try:
            yield stage
        finally:
            self._open.remove(stage)

    def say(self, line: str) -> None:
        """Keep one line for the client."""
        self.store.say(self.job, self.clean(line))

    def write(self) -> None:
        """Write the open stages, at most a few times a second."""
        now = time.monotonic()
        if now - self._written < EVERY:
            return
        self._written = now
        self.store.note_progress(self.job, [stage.facts(now) for stage in self._open])


class _JobStage:
    def __init__(self, owner: JobProgress, name: str, total: int | None) -> None:
        self.owner, self.name, self.total = owner, name, total
        self.done, self.note = 0, ""
        self.started = time.monotonic()

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.done += steps
        self.note = note
        self.owner.write()

    def facts(self, now: float) -> dict[str, Any]:
        """Where the stage is; `left` is in seconds, None if nothing is done yet."""
        left = None
        if self.total and self.done:
            left = round((now - self.started) / self.done * max(self.total - self.done, 0), 1)
        return {
            "name": self.name,
            "done": self.done,
            "total": self.total,
            "note": self.note,
            "seconds": round(now - self.started, 1),
            "left": left,
        }
