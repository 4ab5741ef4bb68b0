"""Run attacks in parallel: one process per core, one thread per process.

Or on the workers of an engine, such as Ray. Every attack runs on one thread, so that the figures of
an audit do not depend on the number of cores. Small jobs run in this process; starting others would
take longer.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from withhold.core.progress import Stage
from withhold.learn.nets.device import core_count, pick_device, threads
from withhold.release.engines.engine import Engine

T = TypeVar("T")
R = TypeVar("R")
_parent: int | None = None
_SMALL = 25.0  # seconds of work below which one process does everything


def run_all(
    function: Callable[[T], R],
    tasks: Sequence[tuple[float, T]],
    *,
    workers: int | None,
    stage: Stage,
    engine: Engine | None = None,
) -> Iterator[tuple[int, R]]:
    """Yield (index, function(task)) for every (cost in seconds, task), in any order.

    Expensive tasks run first, so that no long one is left at the end. With an engine of other
    processes, such as Ray, they run there.
    """
    order = sorted(range(len(tasks)), key=lambda i: -tasks[i][0])
    if engine is not None and engine.elsewhere:
        for place, result in engine.each(_OneOf(function, [task for _, task in tasks]), order):
            yield order[place], result
            stage.advance(_units(tasks[order[place]][0]))
        return
    count = workers or (core_count() if pick_device().type == "cpu" else 1)
    if count == 1 or sum(cost for cost, _ in tasks) < _SMALL:
        for i in order:
            yield i, _alone(function, tasks[i][1])
            stage.advance(_units(tasks[i][0]))
        return
    from joblib import Parallel, delayed, parallel_config

    call: Any = delayed(_numbered)
    with parallel_config(backend="loky", inner_max_num_threads=1):
        # Workers get large arrays as memory maps of one file, not as copies.
        parallel = Parallel(n_jobs=count, return_as="generator_unordered", max_nbytes="1M")
        for i, result in parallel(call(function, i, tasks[i][1]) for i in order):
            yield i, result
            stage.advance(_units(tasks[i][0]))


@dataclass(frozen=True)
class _OneOf(Generic[T, R]):
    """The function of the task with a number.

    All tasks are sent to a worker together, once: they share their records, which are many times
    larger than the rest.
    """

    function: Callable[[T], R]
    tasks: list[T]

    def __call__(self, number: int) -> R:
        """The result of one task."""
        return _alone(self.function, self.tasks[number])


def work(tasks: Sequence[tuple[float, Any]]) -> int:
    """The total for a progress stage with these tasks."""
    return sum(_units(cost) for cost, _ in tasks)


def _units(cost: float) -> int:
    return max(round(cost), 1)


def _numbered(function: Callable[[T], R], i: int, task: T) -> tuple[int, R]:
    _follow_parent()
    return i, _alone(function, task)


def _follow_parent() -> None:
    """End this worker when its parent ends, so that a killed audit leaves no process behind."""
    global _parent
    if _parent is not None:
        return
    _parent = os.getppid()

    def watch() -> None:
        while os.getppid() == _parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _alone(function: Callable[[T], R], task: T) -> R:
    from threadpoolctl import threadpool_limits

    with threads(1), threadpool_limits(1):
        return function(task)
