"""The engine `local`: this process, with its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Self

from withhold.learn.nets.device import core_count, limited_cores
from withhold.release.engines.engine import Engine, Made, Task


class LocalEngine(Engine):
    """One task after the other. The modifiers use `workers` threads inside a task."""

    name = "local"
    elsewhere = False

    def __init__(self, workers: int | None = None) -> None:
        self.workers = core_count() if workers is None else workers
        self._limit: AbstractContextManager[None] = (
            nullcontext() if workers is None else limited_cores(workers)
        )

    def __enter__(self) -> Self:
        self._limit.__enter__()
        return self

    def stop(self) -> None:
        """Give the cores back."""
        self._limit.__exit__(None, None, None)

    def map(self, function: Callable[[Task], Made], tasks: Iterable[Task]) -> Iterator[Made]:
        """The built-in `map`: nothing is read ahead."""
        return map(function, tasks)
