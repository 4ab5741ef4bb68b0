"""The interface of sinks for released media."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from withhold.records.readers.collection import Item
from withhold.records.samples import Sample


class MediaSink(ABC):
    """Takes samples in the order of the collection; `encoded` may be called from any thread."""

    resumed = ""  # where an earlier run left files that this run resumes from

    def __init__(self, labels: pa.Table) -> None:
        """labels: those that leave, a row for each item; a table without columns where none do."""
        self.labels = labels

    def done(self, place: int, item: Item) -> bool:
        """Whether an earlier run has written this item already."""
        return False

    @abstractmethod
    def encoded(self, place: int, item: Item, sample: Sample) -> Any:
        """What `put` takes."""

    @abstractmethod
    def put(self, place: int, item: Item, made: Any) -> None:
        """Write one item; `made` is None if it is already done."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
