"""How long each part of an audit took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """The seconds that each part took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Measure the time of the `with` block."""
        started = time.perf_counter()
        yield
        self.seconds[part] = round(time.perf_counter() - started, 2)
