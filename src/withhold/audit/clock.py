"""How long each part of an audit took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """What each part took, in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Measure what is done inside."""
        started = time.perf_counter()
        yield
        self.seconds[part] = round(time.perf_counter() - started, 2)
