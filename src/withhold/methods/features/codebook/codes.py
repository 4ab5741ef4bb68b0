"""Codes and their weights by Wasserstein barycentre: the start of every solver.

Alternate (a) transport of every class onto the codes, with the same code weights for all, and
(b) codes = mean of the records that are transported to them. Every class then uses the codes
equally, with the least total distortion. Code weights are learned: if classes have values in
unequal shares, weights that fit the records move fewer of them to a distant code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from withhold.learn.training import stage_seed
from withhold.methods.features.codebook.learner import Task
from withhold.methods.features.codebook.metric import Metric, fit_metric
from withhold.methods.features.codebook.reader import MetricReader
from withhold.methods.features.codebook.transport import balance, plan, settle, shares

_LLOYD = 15
_MOST = 60_000  # records that determine the codes; more would hardly change them


@dataclass(frozen=True, eq=False)
class Barycentre:
    """Codes z (N, p) in the metric, their preserved values (N,), potentials (C, N) by cell."""

    metric: Metric
    codes: Tensor
    value: Tensor
    log_shares: Tensor  # (U, N): log b(j | u)
    potentials: Tensor
    blur: float

    @property
    def stands(self) -> Tensor:
        """Whether a code stands for a preserved value, (U, N)."""
        return self.log_shares > -torch.inf

    def reader(self) -> MetricReader:
        """-|z - c_j|^2 / eps as scores."""
        return MetricReader(self.metric, self.codes, self.blur)


def find_barycentre(task: Task) -> Barycentre:
    """The barycentre of the task's records."""
    config = task.config
    chosen = task.some(_MOST, "codes")
    x, s, u, cell = (v[chosen] for v in (task.x, task.s, task.u, task.cell))
    metric = fit_metric(x, s, task.classes, config.directions, stage_seed(task.seed, "metric"))
    z = metric.place(x, s)
    codes, value = _start(z, u, task)
    stands = value[None, :] == torch.arange(task.values)[:, None]  # (U, N)
    weights = stands / stands.sum(dim=1, keepdim=True)
    potentials = None
    with task.progress.stage("barycentre", config.outer) as bar:
        for move in range(config.outer):
            last = move == config.outer - 1
            first_blur, last_blur = config.blur
            blur = first_blur + (last_blur - first_blur) * move / max(config.outer - 1, 1)
            scores = -torch.cdist(z, codes).square() / blur
            log_shares = weights.log()
            potentials = balance(
                scores, cell, log_shares[task.value_of_cell],
                steps=config.inner, potentials=potentials, relax=config.relax,
            )  # fmt: skip
            w = plan(scores, cell, potentials)
            codes = (w.T @ z) / w.sum(dim=0).clamp_min(1e-12)[:, None]
            if not last:
                # Half-way to the shares that the records would have without any constraint.
                free = shares(torch.softmax(scores + log_shares[u], dim=1), u, task.values)
                weights = (0.5 * weights + 0.5 * free).clamp_min(1e-2 / task.codes) * stands
                weights = weights / weights.sum(dim=1, keepdim=True)
            bar.advance()
    # The codes have moved once more, so compute their potentials again.
    scores = -torch.cdist(z, codes).square() / blur
    shares_of_cell = log_shares[task.value_of_cell]
    potentials = settle(scores, cell, shares_of_cell, relax=config.relax)
    return Barycentre(metric, codes, value, log_shares, potentials, blur)


def _start(z: Tensor, u: Tensor, task: Task) -> tuple[Tensor, Tensor]:
    """k-means for each preserved value, with codes in proportion to its records."""
    count = torch.bincount(u, minlength=task.values)
    wanted = task.codes * count / count.sum()
    number = wanted.floor().long().clamp_min(1).minimum(count.clamp_min(1))
    while int(number.sum()) > task.codes and int(number.max()) > 1:
        number[number.argmax()] -= 1
    while int(number.sum()) < task.codes and bool((number < count).any()):
        behind = torch.where(number < count, wanted - number, -math.inf)
        number[behind.argmax()] += 1
    codes = [
        kmeans(z[u == v], int(k), stage_seed(task.seed, "k-means", v)) for v, k in enumerate(number)
    ]
    value = torch.repeat_interleave(
        torch.arange(task.values), torch.tensor([len(c) for c in codes])
    )
    return torch.cat(codes), value


def kmeans(z: Tensor, k: int, seed: int) -> Tensor:
    """k centres of z (n, p) by Lloyd's iterations from random records; an empty one restarts."""
    generator = torch.Generator().manual_seed(seed)
    centres = z[torch.randperm(len(z), generator=generator)[:k]].clone()
    for _ in range(_LLOYD):
        nearest = torch.cat([torch.cdist(part, centres).argmin(dim=1) for part in z.split(65536)])
        count = torch.bincount(nearest, minlength=k)
        centres = torch.zeros_like(centres).index_add_(0, nearest, z) / count.clamp_min(1)[:, None]
        empty = count == 0
        if bool(empty.any()):
            again = torch.randint(len(z), (int(empty.sum()),), generator=generator)
            centres[empty] = z[again]
    return centres
