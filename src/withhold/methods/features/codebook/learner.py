"""The input and the output of every solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from withhold.core.progress import Progress
from withhold.learn.journal import Journal, StageJournal
from withhold.learn.training import seeded
from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.reader import MetricReader, Reader, fold_of
from withhold.methods.features.codebook.transport import balance, settle

STEPS = 30  # of the transport between two rounds
FEWEST = 4  # records of a pair (suppressed, preserved) that is balanced by itself
_FEW = 200  # records that can be shared between two networks
_EACH = 20  # records for each class and code; with more, no second network is needed
_SMALL = range(500, 5_000)  # numbers of records with a large effect in `withhold bench elimination`
_PLAN = 20_000_000  # numbers in a plan; if n x N is larger, a plan uses only some records


@dataclass(frozen=True, eq=False)
class Task:
    """Records x (n, d), their classes, and the cells that should use the codes equally."""

    x: Tensor
    s: Tensor  # suppressed class of each record, (n,)
    u: Tensor  # preserved value of each record, (n,); all 0 if nothing is preserved
    cell: Tensor  # (n,)
    value_of_cell: Tensor  # preserved value of each cell, (C,)
    classes: int
    values: int
    config: CodebookConfig
    codes: int
    seed: int
    progress: Progress
    journal: Journal
    digest: str
    name: str = "codebook"

    @property
    def folds(self) -> int:
        """How many networks read the records.

        A network that has memorised the records balances their counts, so an attacker who knows
        most labels can name the class that a code lacks. The effect is large with few records, or
        with few records for each class and code because the user set many codes. In these cases a
        second network helps most, and costs little.
        """
        each = len(self.x) / max(self.classes * self.codes, 1)
        crowded = self.config.codes is not None and each < _EACH and len(self.x) >= _FEW
        return self.config.folds or (2 if crowded or len(self.x) in _SMALL else 1)

    def fold(self, rows: Tensor) -> Tensor:
        """The fold of some records, (len(rows),): which network reads them."""
        if self.folds == 1:
            return torch.zeros(len(rows), dtype=torch.int64)
        return torch.cat([fold_of(self.x[part], self.journal.key) for part in rows.split(4096)])

    @property
    def plan_rows(self) -> int:
        """How many records a plan uses."""
        return min(len(self.x), max(_PLAN // self.codes, 1000))

    def some(self, most: int, *purpose: object) -> Tensor:
        """Rows of all records, or of about `most` random ones with a few of every cell."""
        n = len(self.x)
        if n <= most:
            return torch.arange(n)
        draw = torch.randperm(n, generator=seeded(self.seed, "rows", *purpose))
        by_cell = torch.argsort(self.cell[draw], stable=True)
        count = torch.bincount(self.cell)
        start = (torch.cumsum(count, 0) - count)[self.cell[draw][by_cell]]
        few = draw[by_cell[torch.arange(n) - start < FEWEST]]
        rows: Tensor = torch.cat([draw[:most], few]).unique()
        return rows

    def stage(self, name: str) -> StageJournal:
        """The journal of a stage of this fit."""
        return self.journal.stage(
            name, data=self.digest, seed=self.seed, codes=self.codes,
            config=self.config.model_dump(mode="json"),
        )  # fmt: skip

    def on(self, rows: Tensor) -> Task:
        """The same task for some of the records."""
        x, s, u, cell = (v[rows] for v in (self.x, self.s, self.u, self.cell))
        return replace(self, x=x, s=s, u=u, cell=cell)

    def mixture(self) -> Tensor:
        """P(u | s), (K, U); a class without records has the mixture of all."""
        table = torch.zeros(self.classes, self.values).index_put_(
            (self.s, self.u), torch.ones(len(self.s)), accumulate=True
        )
        total = table.sum(dim=1, keepdim=True)
        everybody = table.sum(dim=0) / len(self.s)
        mixed: Tensor = torch.where(total > 0, table / total.clamp_min(1), everybody)
        return mixed


@dataclass(frozen=True, eq=False)
class Learned:
    """A channel W(j | x, s) = softmax_j(reader(x, s) + potentials[s]), potentials (K, N).

    Without potentials it does not depend on s. `wanted` (K, N) are the log shares that the
    potentials were computed for.
    """

    reader: Reader
    potentials: Tensor | None = None
    wanted: Tensor | None = None


class Solver(Protocol):
    """A way to learn a channel."""

    def __call__(self, task: Task) -> Learned:
        """Learn from the records of the task."""


def label_potentials(reader: Reader, task: Task, rows: Tensor, wanted: Tensor) -> Tensor:
    """Potentials (K, N) by class, for the log shares `wanted` (K, N).

    For a metric they are computed until the shares are met. For a network some steps are enough:
    it has nearly balanced the classes by itself, and what is left in the fitted records is mostly
    chance. Exact shares would fit that chance: on AudioMNIST this cost a point of digit accuracy
    and hid nothing more.
    """
    scores = scores_of(reader, task, rows)
    how = settle if isinstance(reader, MetricReader) else partial(balance, steps=3 * STEPS)
    return how(scores, task.s[rows], wanted, relax=task.config.relax).clamp_min(-1e4)


def scores_of(reader: Reader, task: Task, rows: Tensor) -> Tensor:
    """The reader's scores of some records, (len(rows), N), a few thousand at a time."""
    pieces = [reader.scores(task.x[part], task.s[part]) for part in rows.split(4096)]
    return torch.cat(pieces)
