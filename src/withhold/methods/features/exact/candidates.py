"""Ways to compare records with codes: by a metric, and by a network that learned a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log2, sqrt

import numpy as np
import torch
from torch import Tensor

from withhold.core.progress import Progress
from withhold.learn.training import stage_seed
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.codes import Barycentre, find_barycentre
from withhold.methods.features.codebook.learner import Task
from withhold.methods.features.codebook.metric import Metric, fit_metric
from withhold.methods.features.codebook.reader import MetricReader, NetworkReader, Reader
from withhold.methods.features.codebook.self_label import (
    project,
    read,
    rounds,
    start_networks,
)
from withhold.methods.features.codebook.transport import settle, shares
from withhold.methods.features.exact.all_records import AllRecords
from withhold.methods.features.exact.config import ExactConfig
from withhold.methods.features.exact.exact_balance import ExactBalance, exact_balance
from withhold.methods.features.exact.nearest_codes import nearest_codes
from withhold.methods.features.exact.preserved_values import with_every_value
from withhold.records.tabular import TableEncoder

_FEW = 512  # codes up to which all pairs of records and codes are compared
_MOST = 60_000  # records that decide the codes
_SAMPLE = 80_000_000  # numbers in the scores that are kept in memory
_ENTROPY = 1.3  # a column of a table has a variance of its entropy in bits to this power
_NUMBER = 0.5  # variance of a column of numbers


@dataclass(frozen=True, eq=False)
class ExactCandidate:
    """Scores of a reader, the log shares of its codes (U, N), and potentials to start from.

    start (C, N) is by the cells of the task; without it, it is computed on some records.
    """

    reader: Reader
    log_shares: Tensor
    start: Tensor | None
    progress: Progress

    def common(self, u: Tensor, least: int) -> Tensor:
        """Codes (N,) that enough records get on average, of preserved values u (n,)."""
        count = torch.bincount(u, minlength=len(self.log_shares)).double()
        kept = count @ self.log_shares.double().exp() >= 2 * least
        if int(kept.sum()) < 2:
            kept = torch.ones(len(self.reader), dtype=torch.bool)
        return with_every_value(kept, self.log_shares)

    def balanced(
        self,
        kept: Tensor,
        task: Task,
        cell: Tensor,
        value_of_cell: Tensor,
        *,
        before: Tensor | None = None,
        everything: AllRecords | None = None,
    ) -> ExactBalance:
        """The exact balance over cells (n,) with some of the codes only, kept (N,).

        before: potentials (C, N) of an earlier balance of more codes, to start from. everything:
        all records, where the task has only some of them: potentials settle on the task, and are
        balanced on all.
        """
        reader = self.reader.keep(kept)
        stands = self.log_shares[:, kept] > -1e3
        log_shares = torch.log_softmax(self.log_shares[:, kept].clamp_min(-1e4).double(), dim=1)
        log_shares = log_shares.masked_fill(~stands, -torch.inf).float()[value_of_cell]
        rows = task.some(max(_SAMPLE // len(reader), 1000), "balance")
        with torch.no_grad():
            scores = _scores(reader, task, rows)

            def blocks() -> Iterable[tuple[Tensor, Tensor]]:
                whole = len(rows) == len(task.x)  # then the scores are in memory
                return _cut(scores, cell) if whole else _computed(reader, task, cell)

            if before is not None:
                start = before[:, kept]
            elif self.start is None:
                start = settle(scores, cell[rows], log_shares)
            else:
                first = torch.zeros(len(value_of_cell), dtype=torch.int64)
                first[cell] = task.cell  # cells of few records share potentials to start from
                start = self.start[first][:, kept]
            name = f"balancing {len(reader):,} codes"
            if everything is not None:
                return everything.balanced(
                    reader, log_shares, start, (task.x, cell) if before is None else None,
                    name=name, progress=self.progress,
                )  # fmt: skip
            return exact_balance(blocks, log_shares, start, name=name, progress=self.progress)


def first_codes(task: Task, numbers: IntArray, encoder: TableEncoder | None) -> Barycentre:
    """Codes of a metric, as many for each preserved value as numbers (U,) says."""
    return find_barycentre(task) if _all_pairs(task, encoder) else _nearest(task, numbers, encoder)


def by_metric(
    task: Task, start: Barycentre, config: ExactConfig, encoder: TableEncoder | None
) -> ExactCandidate:
    """Scores of the metric of the first codes; its own blur is that of softness 1."""
    reader = MetricReader(start.metric, start.codes, start.blur * config.softness)
    potentials = None if _all_pairs(task, encoder) else start.potentials / config.softness
    return ExactCandidate(reader, start.log_shares, potentials, task.progress)


def _all_pairs(task: Task, encoder: TableEncoder | None) -> bool:
    return task.codes <= _FEW and encoder is None


def by_network(task: Task, start: Barycentre, config: ExactConfig) -> ExactCandidate:
    """Rounds of network and plan, as in `self-label`; the network reads every record."""
    first, networks = start_networks(task, len(start.codes))
    rounds(task, start, first, networks)
    rows = task.some(task.plan_rows, "exact")
    with torch.no_grad():
        log_q = read(networks, project(first, task.x, rows), task.fold(rows))
        own = shares(log_q.exp(), task.u[rows], task.values)
        own = own.clamp_min(1e-6 / task.codes) * start.stands
        log_shares = (own / own.sum(dim=1, keepdim=True)).log()
    layers = [first, *(m for m in networks[0] if isinstance(m, torch.nn.Linear))]
    for layer in layers:
        layer.requires_grad_(False)
    reader = NetworkReader(layers, config.softness)
    return ExactCandidate(reader, log_shares, None, task.progress)


def _nearest(task: Task, numbers: IntArray, encoder: TableEncoder | None) -> Barycentre:
    """Codes by k-means on each record's place within its class."""
    chosen = task.some(_MOST, "codes")
    part = task.on(chosen)
    if encoder is None:
        seed = stage_seed(task.seed, "metric")
        metric = fit_metric(part.x, part.s, task.classes, task.config.directions, seed)
    else:
        metric = _table_metric(part, encoder)
    count = torch.bincount(part.u, minlength=task.values)
    number = torch.from_numpy(np.asarray(numbers)).minimum(count.clamp_min(1))
    with task.progress.stage("codes", 3) as bar:
        found = nearest_codes(
            metric.place(part.x, part.s),
            part.cell,
            part.u,
            task.value_of_cell,
            number,
            seed=stage_seed(task.seed, "k-means"),
            bar=bar,
        )
    return Barycentre(
        metric, found.codes, found.value, found.log_shares, found.potentials, found.blur
    )


def _table_metric(task: Task, encoder: TableEncoder) -> Metric:
    """Columns weighted by what they hold: a category by its entropy, a number by half a bit.

    k-means spends its codes where they reduce most variance. A category of 16 values needs four
    times the bits of a binary one, so it gets about four times the variance: otherwise binary
    columns are kept and the others lost. A column with more bits than a third of those of the
    codes cannot be kept beside others, so it gets less the more it has.
    """
    most = log2(max(task.codes, 2)) / 3
    weight = torch.ones(task.x.shape[1])
    for name, block in encoder.blocks.items():
        column = next(c for c in encoder.columns if c.name == name)
        if block.stop <= block.start:
            continue
        listed = column.values is not None and column.kind != "boolean"
        bits = _entropy(task.x[:, block]) if listed else 0.0
        weight[block] = sqrt(min(bits, most**2 / bits) ** _ENTROPY if listed else _NUMBER)
    count = torch.bincount(task.s, minlength=task.classes).clamp_min(1)
    sums = torch.zeros(task.classes, task.x.shape[1]).index_add_(0, task.s, task.x)
    return Metric(sums / count[:, None], torch.diag(weight), torch.ones(task.classes))


def _entropy(x: Tensor) -> float:
    """The entropy in bits of the distinct rows of x (n, k)."""
    _, count = np.unique(x.numpy(), axis=0, return_counts=True)
    p = count / count.sum()
    return max(-sum(float(v) * log2(float(v)) for v in p), 0.05)


def _scores(reader: Reader, task: Task, rows: Tensor) -> Tensor:
    pieces = [reader.scores(task.x[part], task.s[part]) for part in rows.split(4096)]
    return torch.cat(pieces)


def _cut(scores: Tensor, cell: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    yield from zip(scores.split(4096), cell.split(4096), strict=True)


def _computed(reader: Reader, task: Task, cell: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    for part in torch.arange(len(task.x)).split(4096):
        yield reader.scores(task.x[part], task.s[part]), cell[part]
