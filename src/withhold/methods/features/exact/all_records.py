"""All records of a fit whose features stay in their file, in passes over that file.

Nothing of size n x d or n x N is ever held: a pass takes blocks of records, and keeps sums by cell
and code. A record keeps whole numbers only: its cell, its code and its person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from withhold.core.progress import Progress
from withhold.learn.training import stage_seed
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.learner import FEWEST
from withhold.methods.features.codebook.reader import Reader
from withhold.methods.features.exact.exact_balance import ExactBalance, balance_by
from withhold.methods.features.exact.passes import RecordBlock, passed, passed_in_memory
from withhold.records.attribute import Attribute
from withhold.records.streamed import StreamedDataset

if TYPE_CHECKING:
    from withhold.methods.features.exact.modifier import ExactModifier

# The cells that some records are in (m,), how many are in each (m,), and their sums (m, N).
Sums = tuple[Tensor, Tensor, Tensor]
# A pass over records, in the order of their blocks.
Pass = Callable[["ShareSums"], Iterator[Sums]]
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
        some: tuple[Tensor, Tensor] | None,
        *,
        name: str,
        progress: Progress,
    ) -> ExactBalance:
        """The exact balance of all records: from potentials (C, N) that settle on some of them.

        some: features and cells of a sample; None if `start` is already of all records.

        Potentials of a sample fit its chance, so some passes over all records follow. They end
        early: what is left of the difference is removed exactly, from sums over all records.
        """
        if some is not None:
            x, cell = (tensor.numpy() for tensor in some)
            first = balance_by(
                partial(self.inside, reader, over=partial(passed_in_memory, x=x, own=cell)),
                log_shares, start, name=f"{name} on some records", progress=progress,
                most=_ON_SOME, close=_CLOSE_ON_SOME,
            )  # fmt: skip
            start = first.potentials
        return balance_by(
            partial(self.inside, reader), log_shares, start, name=name, progress=progress,
            most=_ON_ALL, close=_CLOSE,
        )  # fmt: skip

    def inside(self, reader: Reader, g: Tensor, over: Pass | None = None) -> tuple[Tensor, Tensor]:
        """P (C, N) in double precision, and the records of each cell (C,), in one pass.

        over: runs a pass over other records than all.
        """
        mass = torch.zeros(g.shape, dtype=torch.float64)
        count = torch.zeros(len(g), dtype=torch.float64)
        work = ShareSums(reader, g.float(), torch.from_numpy(self.class_of_cell))
        for here, records, sums in (over or self._over_all)(work):
            count[here] += records
            mass[here] += sums
        return mass / count.clamp_min(1)[:, None], count

    def _over_all(self, work: ShareSums) -> Iterator[Sums]:
        for _, found in passed(work, self.dataset, self.cell.__getitem__):
            yield found

    def draw(
        self, made: ExactModifier, labels: Mapping[str, Attribute], progress: Progress
    ) -> IntArray:
        """The code of each record (n,), in one pass. A record's number tells equal ones apart."""
        drawn = np.empty(len(self.dataset), np.int64)

        def own(rows: slice) -> dict[str, Attribute]:
            return {n: a.rows(np.arange(rows.start, rows.stop)) for n, a in labels.items()}

        with progress.stage(f"drawing {len(made.codes):,} codes", len(drawn)) as bar:
            for rows, found in passed(CodeDraws(made), self.dataset, own):
                drawn[rows] = found
                bar.advance(len(found))
        return drawn


@dataclass(frozen=True, eq=False)
class ShareSums:
    """Sums of V(j | i) = softmax_j(a_ij + g_cj) over the records of a block, by cell and code.

    potentials g (C, N); class_of_cell (C,).
    """

    reader: Reader
    potentials: Tensor
    class_of_cell: Tensor

    @torch.inference_mode()
    def __call__(self, block: RecordBlock[IntArray]) -> Sums:
        """The cells that occur in a block, the records of each, and their sums."""
        x, cell = torch.from_numpy(block.x), torch.from_numpy(block.own)
        here, member, records = cell.unique(return_inverse=True, return_counts=True)
        sums = torch.zeros(len(here), len(self.reader), dtype=torch.float64)
        for at in range(0, len(x), _PIECE):
            own, place = cell[at : at + _PIECE], member[at : at + _PIECE]
            scores = self.reader.scores(x[at : at + _PIECE], self.class_of_cell[own])
            v = torch.softmax(scores + self.potentials[own], dim=1).double()
            if len(here) > _FEW:
                sums.index_add_(0, place, v)
            else:
                one = torch.zeros(len(here), len(own), dtype=torch.float64)
                one[place, torch.arange(len(own))] = 1
                sums += one @ v
        return here, records, sums


@dataclass(frozen=True, eq=False)
class CodeDraws:
    """The code of each record of a block, by its features, labels and number."""

    made: ExactModifier

    def __call__(self, block: RecordBlock[dict[str, Attribute]]) -> npt.NDArray[np.int32]:
        """The codes (m,) as small numbers."""
        drawn = np.empty(len(block.x), np.int32)
        for at in range(0, len(drawn), _DRAWN):
            here = np.arange(at, min(at + _DRAWN, len(drawn)))
            own = {n: a.rows(here) for n, a in block.own.items()}
            number = (block.start + here).astype(np.uint64)[:, None]
            drawn[here] = self.made.draw_with(block.x[here], own, number)[0]
        return drawn


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
