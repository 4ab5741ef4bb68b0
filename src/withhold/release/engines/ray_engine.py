"""The engine `ray`: tasks on the actors of a Ray cluster.

A running Ray is used as it is: one that this program has started, or the cluster that RAY_ADDRESS
names. Otherwise a local one is started, without dashboard and usage reports, bound to this machine,
and stopped at the end.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Self

from withhold.core.errors import UserError
from withhold.learn.nets.device import core_count
from withhold.release.engines.engine import AHEAD, Engine, InWorker, Made, Task, opened
from withhold.release.engines.optional_engine import needed

_STORE = 2**29  # bytes of the object store of a local Ray: it holds the tasks that are under way

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # With this, a local Ray listens on the loopback address on every system, not only on macOS. It
    # is read when Ray is imported.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


class RayEngine(Engine):
    """`workers` actors, one core each. Ray starts a killed actor again, and repeats its task."""

    name = "ray"

    def __init__(self, workers: int | None = None) -> None:
        self._asked, self.workers = workers, workers or core_count()
        self._actors: list[Any] = []
        self._started: str | None = None  # the folder of the Ray that was started here

    def __enter__(self) -> Self:
        self._started = start_ray(self._asked)
        ray = needed("ray")
        cpus = int(ray.cluster_resources().get("CPU", 1))
        self.workers = self._asked or max(cpus, 1)
        kind = ray.remote(max_restarts=-1, max_task_retries=-1)(_Worker)
        share = cpu_share(self.workers, cpus)
        self._actors = [kind.options(num_cpus=share).remote() for _ in range(self.workers)]
        return self

    def stop(self) -> None:
        """End the actors, and the Ray that was started here."""
        ray = needed("ray")
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []
        stop_ray(self._started)

    def processes(self) -> list[int]:
        """The process of each actor."""
        found: list[int] = needed("ray").get([a.process.remote() for a in self._actors])
        return found

    def map(self, function: Callable[[Task], Made], tasks: Iterable[Task]) -> Iterator[Made]:
        """Results that come before their turn wait in the store of Ray."""
        early: dict[int, Any] = {}
        at = 0
        for number, future in self._finished(function, tasks, early):
            early[number] = future
            while at in early:
                found = _result(early.pop(at))
                at += 1
                yield found

    def each(
        self, function: Callable[[Task], Made], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Made]]:
        """Results as they come."""
        for number, future in self._finished(function, tasks, ()):
            yield number, _result(future)

    def _finished(
        self, function: Callable[[Any], Any], tasks: Iterable[Any], waiting: Sized
    ) -> Iterator[tuple[int, Any]]:
        """The number and the future result of every task that is done.

        The next task goes to the actor with the fewest. waiting: results that are not used yet.
        """
        ray = needed("ray")
        # In a list, so that an actor fetches the function once and not with every task.
        shared = [ray.put(InWorker(function))]
        left = iter(enumerate(tasks))
        busy = dict.fromkeys(range(len(self._actors)), 0)
        running: dict[Any, tuple[int, int]] = {}  # from a future result to its task and actor
        more = True
        try:
            while more or running:
                while more and len(running) + len(waiting) < AHEAD * len(busy):
                    number, task = next(left, (-1, None))
                    more = number >= 0
                    if more:
                        actor = min(busy, key=lambda i: busy[i])
                        future = self._actors[actor].run.remote(shared, task)
                        running[future], busy[actor] = (number, actor), busy[actor] + 1
                    del task
                if not running:
                    continue
                for future in ray.wait(list(running))[0]:
                    number, actor = running.pop(future)
                    busy[actor] -= 1
                    yield number, future
        finally:
            for future in running:
                ray.cancel(future)


def _result(future: Any) -> Any:
    ray = needed("ray")
    try:
        return opened(ray.get(future))
    except ray.exceptions.RayError as error:
        first = str(error).strip().splitlines()[0][:200]
        raise UserError(
            f"Ray could not run a task ({first}); see its logs, or use --engine local"
        ) from error


class _Worker:
    """An actor: it keeps the function that it was sent last."""

    def __init__(self) -> None:
        self._shared: Any = None
        self._function: Callable[[Any], Any] | None = None

    def run(self, shared: list[Any], task: Any) -> Any:
        """function(task)."""
        if self._function is None or shared[0] != self._shared:
            self._shared, self._function = shared[0], needed("ray").get(shared[0])
        assert self._function is not None
        return self._function(task)

    def process(self) -> int:
        """The id of its process."""
        return os.getpid()


def start_ray(cpus: int | None = None) -> str | None:
    """Start a local Ray unless there is one; the folder of its files, or None if nothing started.

    cpus: how many processes it may run at a time; None: one for every core.
    """
    joins = bool(os.environ.get("RAY_ADDRESS"))
    for name, value in _SETTINGS.items():
        if not (joins and name.endswith("CLUSTER")):
            os.environ.setdefault(name, value)
    ray = needed("ray")
    if ray.is_initialized():
        return None
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    if joins:
        ray.init(log_to_driver=False, logging_level="ERROR")
        return ""
    folder = tempfile.mkdtemp(prefix="withhold-ray-")  # short: its sockets have long names
    try:
        ray.init(
            address="local",
            num_cpus=max(cpus or core_count(), 1),
            object_store_memory=_STORE,
            _temp_dir=folder,
            _node_ip_address="127.0.0.1",
            **quiet,
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def stop_ray(started: str | None) -> None:
    """Stop the Ray that `start_ray` started, or leave the cluster that it joined."""
    if started is not None:
        needed("ray").shutdown()
        if started:
            shutil.rmtree(started, ignore_errors=True)


def cpu_share(workers: int, cpus: int) -> float:
    """The CPUs that each of some actors asks for. At least one CPU stays for those that read.

    Two actors that ask for 1 CPU each on a machine with 2 leave none for the tasks that read their
    data, and wait for ever.
    """
    return min(1.0, max(cpus - 1, 0) / workers)
