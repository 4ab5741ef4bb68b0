"""A pass over records: a pure function of each block, here on threads or on an engine elsewhere.

Blocks are the same everywhere and results come in their order, so sums have the same bits from
every engine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from withhold.learn.nets.device import core_count, limited_cores, threads
from withhold.methods.modifier import FloatArray
from withhold.records.streamed import ROWS, StreamedDataset

Own = TypeVar("Own")
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class RecordBlock(Generic[Own]):
    """Features (m, d) of some records, what else is known of each, and the row of the first."""

    x: FloatArray
    own: Own
    start: int = 0

    @property
    def rows(self) -> slice:
        """Where these records are among all."""
        return slice(self.start, self.start + len(self.x))


def passed(
    work: Callable[[RecordBlock[Own]], Made], dataset: StreamedDataset, own: Callable[[slice], Own]
) -> Iterator[tuple[slice, Made]]:
    """(rows, work(block)) of all blocks of a file, in their order.

    own: what else is known of the records in some rows. The engine of the dataset runs `work` on
    its workers; without one, the threads of this process do.
    """
    done: deque[slice] = deque()

    def blocks() -> Iterator[RecordBlock[Own]]:
        for rows, x in dataset.blocks():
            done.append(rows)
            yield RecordBlock(x, own(rows), rows.start)

    spread = dataset.spread
    made = _on_threads(work, blocks()) if spread is None else spread(_OneThread(work), blocks())
    for found in made:
        yield done.popleft(), found


def passed_in_memory(
    work: Callable[[RecordBlock[Any]], Made], x: FloatArray, own: Any
) -> Iterator[Made]:
    """work(block) of records in memory, (n, d) and (n,), in blocks as those of a file."""
    starts = range(0, len(x), ROWS)
    return _on_threads(work, (RecordBlock(x[i : i + ROWS], own[i : i + ROWS], i) for i in starts))


def _on_threads(work: Callable[[Any], Made], blocks: Iterable[Any]) -> Iterator[Made]:
    """work(block) of all blocks in order, a few at a time, each on one core."""
    waiting: deque[Future[Made]] = deque()
    most = core_count()
    with threads(1), limited_cores(1), ThreadPoolExecutor(most) as pool:
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > 2 * most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@dataclass(frozen=True)
class _OneThread(Generic[Own, Made]):
    """The work as a worker does it: the number of threads decides the last bits of sums."""

    work: Callable[[RecordBlock[Own]], Made]

    def __call__(self, block: RecordBlock[Own]) -> Made:
        with threads(1):
            return self.work(block)
