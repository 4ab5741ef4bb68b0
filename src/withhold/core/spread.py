"""A function that runs another one over many tasks: the built-in `map`, or that of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Task = TypeVar("Task")
Made = TypeVar("Made")


class MapInOrder(Protocol):
    """function(task) of every task, in the order of the tasks."""

    def __call__(
        self, function: Callable[[Task], Made], tasks: Iterable[Task], /
    ) -> Iterator[Made]:
        """The results, made while they are read."""
