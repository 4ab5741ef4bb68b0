"""All records of a fit whose features stay in their file, in passes over that file.

Nothing of size n x d or n x N is ever held: a pass takes blocks of records, and keeps sums by cell
and code. A record keeps whole numbers only: its cell, its code and its person.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import Tensor

from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count, threads
from withhold.learn.training import stage_seed
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.learner import FEWEST
from withhold.methods.features.codebook.reader import Reader
from withhold.methods.features.exact.exact_balance import ExactBalance, balance_by
from withhold.records.attribute import Attribute
from withhold.records.streamed import StreamedDataset

if TYPE_CHECKING:
    from withhold.methods.features.exact.modifier import ExactModifier

Piece = tuple[Tensor, Tensor, Tensor]  # features (m, d), classes (m,) and cells (m,)
Pieces = Callable[[], Iterable[Piece]]
_Piece = TypeVar("_Piece")
_Made = TypeVar("_Made")
SAMPLE = 2**25  # numbers in the features of the records that codes and network are learned from
_PIECE = 512  # records whose scores fit into the cache of a core
_DRAWN = 2048  # records whose probabilities are in memory at once
_FEW = 64  # cells whose sums are made by a product of matrices
_ON_SOME = 10  # passes over the sample before those over all records
_ON_ALL = 4  # passes over all records
_CLOSE_ON_SOME, _CLOSE = 3e-3, 1e-2  # shares of the draws of a cell that may ignore their record


@dataclass(frozen=True, eq=False)
class AllRecords:
    """The records of a dataset, the cell of each (n,), and the class of each cell (C,)."""

    dataset: StreamedDataset
    cell: IntArray
    class_of_cell: IntArray

    def balanced(
        self,
        reader: Reader,
        log_shares: Tensor,
        start: Tensor,
        some: Pieces | None,
        *,
        name: str,
        progress: Progress,
    ) -> ExactBalance:
        """The exact balance of all records: from potentials (C, N) that settle on some of them.

        some: all pieces of a sample; None if `start` is already of all records.

        Potentials of a sample fit its chance, so some passes over all records follow. They end
        early: what is left of the difference is removed exactly, from sums over all records.
        """
        if some is not None:
            first = balance_by(
                partial(_shares_inside, some, reader), log_shares, start,
                name=f"{name} on some records", progress=progress,
                most=_ON_SOME, close=_CLOSE_ON_SOME,
            )  # fmt: skip
            start = first.potentials
        inside = partial(_shares_inside, self.pieces, reader)
        return balance_by(
            inside, log_shares, start, name=name, progress=progress, most=_ON_ALL, close=_CLOSE
        )

    def draw(
        self, made: ExactModifier, labels: Mapping[str, Attribute], progress: Progress
    ) -> IntArray:
        """The code of each record (n,), in one pass. A record's number tells equal ones apart."""
        drawn = np.empty(len(self.dataset), np.int64)
        with progress.stage(f"drawing {len(made.codes):,} codes", len(drawn)) as bar:
            for rows, x in self.dataset.blocks():
                for at in range(0, len(x), _DRAWN):
                    here = slice(rows.start + at, min(rows.start + at + _DRAWN, rows.stop))
                    own = {n: a.rows(np.arange(here.start, here.stop)) for n, a in labels.items()}
                    number = np.arange(here.start, here.stop, dtype=np.uint64)[:, None]
                    drawn[here] = made.draw_with(x[at : at + _DRAWN], own, number)[0]
                bar.advance(len(x))
        return drawn

    def pieces(self) -> Iterator[Piece]:
        """Features, classes and cells of all records, in one pass."""
        class_of = torch.from_numpy(self.class_of_cell)
        for rows, x in self.dataset.blocks():
            cell = torch.from_numpy(self.cell[rows])
            yield from pieces_of(torch.from_numpy(x), class_of[cell], cell)


def pieces_of(x: Tensor, s: Tensor, cell: Tensor) -> Iterator[Piece]:
    """Features (n, d), classes (n,) and cells (n,) of records in memory."""
    yield from zip(x.split(_PIECE), s.split(_PIECE), cell.split(_PIECE), strict=True)


@torch.no_grad()
def _shares_inside(pieces: Pieces, reader: Reader, g: Tensor) -> tuple[Tensor, Tensor]:
    """P (C, N) in double precision, and the records of each cell (C,), in one pass."""
    mass = torch.zeros(g.shape, dtype=torch.float64)
    count = torch.zeros(len(g), dtype=torch.float64)
    single = g.float()

    def work(piece: Piece) -> tuple[Tensor, Tensor, Tensor]:
        with torch.inference_mode():
            x, s, cell = piece
            v = torch.softmax(reader.scores(x, s) + single[cell], dim=1).double()
            records = torch.bincount(cell, minlength=len(g))
            here, member = cell.unique(return_inverse=True)
            if len(here) > _FEW:
                return records, cell, v
            one = torch.zeros(len(here), len(cell), dtype=torch.float64)
            one[member, torch.arange(len(cell))] = 1
            return records, here, one @ v

    for records, at, sums in _each(work, pieces()):
        count += records
        mass.index_add_(0, at, sums)
    return mass / count.clamp_min(1)[:, None], count


def sample_rows(cell: IntArray, most: int, seed: int) -> IntArray:
    """About `most` random records, sorted, with a few of every cell (n,)."""
    if len(cell) <= most:
        return np.arange(len(cell))
    rng = np.random.default_rng(stage_seed(seed, "some of all records"))
    some = rng.choice(len(cell), most, replace=False, shuffle=False)
    rare = np.bincount(cell[some], minlength=int(cell.max()) + 1) < FEWEST
    more = rng.permutation(np.flatnonzero(rare[cell]))
    more = more[np.argsort(cell[more], kind="stable")]
    starts = np.searchsorted(cell[more], cell[more])
    few = more[np.arange(len(more)) - starts < FEWEST]
    return np.union1d(some, few)


def _each(work: Callable[[_Piece], _Made], pieces: Iterable[_Piece]) -> Iterator[_Made]:
    """work(piece) of all pieces in order, a few at a time on all cores."""
    waiting: deque[Future[_Made]] = deque()
    with threads(1), ThreadPoolExecutor(core_count()) as pool:
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) > 4 * core_count():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
