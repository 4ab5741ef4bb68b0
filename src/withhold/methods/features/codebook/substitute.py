"""The solver `substitute`: a learned channel with I(J; S | preserved) as its penalty.

minimise over q:  E sum_j q_j(x) d(x, c_j) / eps  -  E log sum_{j: v_j = u} q_j(x)
                  + penalty * I(J; S | U) + KL(P(J | U) || b(. | U))

The first term is the agnostic one: the distance to the code in the metric of the barycentre. The
last term keeps the codes in use as often as in the barycentre. Without these two, the channel
collapses to one code per preserved value. The gradients of the last two terms with respect to
q_j(x) are log P(j|s,u) / P(j|u) and log P(j|u) / b(j|u). They are tables of cells and codes and are
kept as running means, so a batch need not contain a whole class.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from withhold.learn.training import epochs_for
from withhold.methods.features.codebook.code_network import batch_of, log_scores, train_round
from withhold.methods.features.codebook.codes import Barycentre, find_barycentre
from withhold.methods.features.codebook.learner import Learned, Task
from withhold.methods.features.codebook.self_label import finish, project, rounds, start_networks

_KEEP = 0.9  # share of the running tables that a step keeps
_TINY = 1e-6


def substitute(task: Task) -> Learned:
    """One round on the plan of the barycentre, then rounds on the loss."""
    config = task.config
    start = find_barycentre(task)
    once = config.model_copy(update={"rounds": 1, "exact_rounds": 0, "folds": 1})
    task = replace(task, config=config.model_copy(update={"folds": 1}))
    first, networks = start_networks(task, len(start.codes))
    rounds(replace(task, config=once), start, first, networks)
    [network] = networks
    task = task.on(task.some(task.plan_rows, "substitute"))
    z = project(first, task.x, torch.arange(len(task.x)))
    loss = _Loss(task, start)
    epochs = epochs_for(config.epochs, len(z), batch_of(len(z), config), steps=280)
    for number in range(1, config.rounds):
        name = f"{task.name} substitute {number}"
        stage = task.stage(name)
        with task.progress.stage(name, epochs) as bar:
            train_round(
                network, z, loss, config,
                name=name, seed=task.seed, epochs=epochs, stage=stage, bar=bar,
                begin=lambda: loss.count(network, z),
            )  # fmt: skip
    return finish(task, start, first, networks)


class _Loss:
    """The three terms of a batch, and the running tables P(j | cell)."""

    def __init__(self, task: Task, start: Barycentre) -> None:
        self.task, self.start, self.reader = task, start, start.reader()
        self.number = torch.bincount(task.cell, minlength=len(task.value_of_cell)).float()
        self.table = torch.zeros(len(self.number), len(start.codes))

    def count(self, network: nn.Sequential, z: Tensor) -> None:
        """Compute P(j | cell) of all records from the current network."""
        self.table = torch.zeros_like(self.table)
        for part, cell in zip(z.split(4096), self.task.cell.split(4096), strict=True):
            self.table.index_add_(0, cell, log_scores(network, part).exp())
        self.table = self.table / self.number.clamp_min(1)[:, None]

    def __call__(self, scores: Tensor, rows: Tensor) -> Tensor:
        """Loss of log-scores (b, N) of the records `rows` (b,)."""
        task = self.task
        q = torch.softmax(scores, dim=1)
        cell, u = task.cell[rows], task.u[rows]
        with torch.no_grad():
            far = -self.reader.scores(task.x[rows], task.s[rows]) * self.reader.blur
            self._follow(q, cell)
            price = self._price()[cell]
        right = (q * self.start.stands[u]).sum(dim=1).clamp_min(_TINY)
        terms = (q * (far / task.config.softness + price)).sum(dim=1)
        return (terms - right.log()).mean()

    def _follow(self, q: Tensor, cell: Tensor) -> None:
        """Move the rows of the cells in this batch towards it, further if it has many records."""
        total = torch.zeros_like(self.table).index_add_(0, cell, q)
        here = torch.bincount(cell, minlength=len(self.table)).float()[:, None]
        step = (1 - _KEEP) * (here > 0) * (here / (here + 1))
        self.table += step * (total / here.clamp_min(1) - self.table)

    def _price(self) -> Tensor:
        """penalty log P(j | cell) / P(j | u) + log P(j | u) / b(j | u), (C, N)."""
        value = self.task.value_of_cell
        by_value = torch.zeros(self.task.values, self.table.shape[1])
        by_value.index_add_(0, value, self.table * self.number[:, None])
        by_value = (by_value / by_value.sum(dim=1, keepdim=True) + _TINY).log()
        told = (self.table + _TINY).log() - by_value[value]
        held = by_value - (self.start.log_shares.exp() + _TINY).log()
        return self.task.config.penalty * told + held[value]
