"""The engine `local`: this process, with its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self

from withhold.learn.nets.device import core_count, limit_cores
from withhold.release.engines.engine import Engine, Made, Task


class LocalEngine(Engine):
    """One task after the other. The modifiers use `workers` threads inside a task."""

    name = "local"
    elsewhere = False

    def __init__(self, workers: int | None = None) -> None:
        self._asked = workers
        self.workers = core_count() if workers is None else workers

    def __enter__(self) -> Self:
        if self._asked is not None:
            limit_cores(self._asked)
        return self

    def stop(self) -> None:
        """Give all cores back."""
        if self._asked is not None:
            limit_cores(None)

    def map(self, function: Callable[[Task], Made], tasks: Iterable[Task]) -> Iterator[Made]:
        """The built-in `map`: nothing is read ahead."""
        return map(function, tasks)
