"""Where the passes over all records run, as commands ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import Field

from withhold.actions.request import Request
from withhold.core.progress import Progress
from withhold.release.engines import Engine, open_engine


class EngineOptions(Request):
    """The name of the engine, and how many workers it has (None: one for every core)."""

    engine: str = "local"
    workers: int | None = Field(None, ge=1)

    @contextmanager
    def open(self, progress: Progress) -> Iterator[Engine]:
        """The engine while it runs. Starting one takes seconds, which progress shows."""
        engine = open_engine(self.engine, workers=self.workers)
        if self.engine == "local":
            with engine:
                yield engine
            return
        with progress.stage(f"starting {self.engine}", None):
            engine.__enter__()
        try:
            yield engine
        finally:
            engine.stop()
