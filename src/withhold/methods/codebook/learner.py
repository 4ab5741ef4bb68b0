"""What every solver is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from withhold.methods.codebook.config import CodebookConfig
from withhold.methods.codebook.reader import Reader
from withhold.methods.journal import Journal
from withhold.progress import Progress


@dataclass(frozen=True, eq=False)
class Task:
    """Records x (n, d), their cells, and which preserved value each code stands for."""

    x: Tensor
    s: Tensor  # suppressed class of each record, (n,)
    u: Tensor  # preserved value of each record, (n,); all 0 where nothing is preserved
    cell: Tensor  # (n,)
    value_of_cell: Tensor  # preserved value of each cell, (C,)
    config: CodebookConfig
    codes: int
    seed: int
    progress: Progress
    journal: Journal
    digest: str
    name: str = "codebook"

    @property
    def values(self) -> int:
        """How many preserved values there are; 1 where nothing is preserved."""
        return int(self.u.max()) + 1

    @property
    def classes(self) -> int:
        """How many suppressed classes there are."""
        return int(self.s.max()) + 1


@dataclass(frozen=True, eq=False)
class Learned:
    """A channel W(j | x, s) = softmax_j(reader(x, s) + potentials[s]); without potentials (K, N)
    it does not look at s."""

    reader: Reader
    potentials: Tensor | None


class Solver(Protocol):
    """A way to learn a channel."""

    def __call__(self, task: Task) -> Learned:
        """Learn from the records of the task."""
