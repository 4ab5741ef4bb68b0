"""The interface of an engine: run a pure function over tasks, and give its results in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

from withhold.core.errors import RecordError, UserError
from withhold.learn.nets.device import limited_cores

Task = TypeVar("Task")
Made = TypeVar("Made")
AHEAD = 3  # tasks of each worker that are read before the first of them is done


class Engine(ABC):
    """A context manager. What it starts, it stops; what was there before, it leaves alone.

    Functions and tasks are sent to other processes, so they can be pickled. A task may run twice,
    if its worker was killed, so the function has no effect but its result.
    """

    name: ClassVar[str]
    elsewhere: ClassVar[bool] = True  # whether tasks run in other processes than this one
    workers: int

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @abstractmethod
    def stop(self) -> None:
        """Stop what was started."""

    @abstractmethod
    def map(self, function: Callable[[Task], Made], tasks: Iterable[Task]) -> Iterator[Made]:
        """function(task) of every task, in the order of the tasks.

        A few tasks are read ahead, so that memory does not grow with their number. `UserError`
        leaves a worker as it would leave this process.
        """

    def each(
        self, function: Callable[[Task], Made], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Made]]:
        """(number, function(task)) of every task, as they come, in any order.

        For tasks that take very different times: no worker waits for the one before it.
        """
        return enumerate(self.map(function, tasks))

    def pairs(
        self, function: Callable[[Task], Made], tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Made]]:
        """Every task with its result."""
        held: deque[Task] = deque()

        def taken() -> Iterator[Task]:
            for task in tasks:
                held.append(task)
                yield task

        for made in self.map(function, taken()):
            yield held.popleft(), made


@dataclass(frozen=True)
class Refused:
    """A `UserError` of a worker, as a value: engines wrap exceptions in ways of their own."""

    message: str
    row: int | None = None

    def error(self) -> UserError:
        """The error as it was raised."""
        return UserError(self.message) if self.row is None else RecordError(self.row, self.message)


@dataclass(frozen=True)
class InWorker(Generic[Task, Made]):
    """The function as a worker calls it: on `cores` cores, with mistakes as values."""

    function: Callable[[Task], Made]
    cores: int = 1

    def __call__(self, task: Task) -> Made | Refused:
        """The result, or why there is none."""
        try:
            with limited_cores(self.cores):
                return self.function(task)
        except RecordError as error:
            return Refused(error.what, error.row)
        except UserError as error:
            return Refused(str(error))


def opened(found: Made | Refused) -> Made:
    """What a worker returned; raise what it refused."""
    if isinstance(found, Refused):
        raise found.error()
    return found
