"""The solver `self-label`: a network learns the plan, the plan is made again from the network.

Round by round: (a) the network q(j | x), with dropout, learns the plan; (b) the plan is transport
again, with cost -log q(j | x) and the network's own code weights, balanced over the suppressed
classes. The network cannot learn people by heart and still agree with a plan that is balanced over
them, so it finds what they share. What it reads needs no label.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from withhold.methods.codebook.codes import Barycentre, find_barycentre
from withhold.methods.codebook.learner import Learned, Task
from withhold.methods.codebook.network import batch_of, body, eyes, log_scores, train_round
from withhold.methods.codebook.reader import NetworkReader
from withhold.methods.codebook.transport import balance, plan, shares
from withhold.methods.training import epochs_for, seeded

STEPS = 30  # of the transport between two rounds
_PLAN = 100_000_000  # numbers in a plan; a round of more records than fit takes a part of them


def self_label(task: Task) -> Learned:
    """Barycentre, then rounds of network and plan."""
    start = find_barycentre(task)
    first, network = start_network(task, len(start.codes))
    with torch.no_grad():
        z = torch.cat([first(part) for part in task.x.split(4096)])
    rounds(task, start, network, z)
    return finish(task, start, network, z, first)


def start_network(task: Task, codes: int) -> tuple[nn.Linear, nn.Sequential]:
    """The fixed first layer, and the rest, untrained."""
    first = eyes(task.x, task.config.components, task.seed)
    return first, body(first.out_features, codes, task.config, task.seed)


def rounds(task: Task, start: Barycentre, network: nn.Sequential, z: Tensor) -> None:
    """Train the network in place."""
    config = task.config
    epochs = epochs_for(config.epochs, _size(task), batch_of(_size(task), config), steps=280)
    potentials: Tensor | None = None
    for number in range(config.rounds):
        name = f"{task.name} round {number + 1}"
        rows = _rows(task, number)
        with torch.no_grad():
            if number == 0:
                scores = start.reader().scores(task.x[rows], task.s[rows])
                w = plan(scores, task.cell[rows], start.potentials)
            else:
                scores = log_scores(network, z[rows]) / config.softness
                potentials = _balanced(task, start, scores, rows, potentials)
                w = plan(scores, task.cell[rows], potentials)
        stage = task.journal.stage(
            name, data=task.digest, seed=task.seed, codes=task.codes,
            config=config.model_dump(mode="json"),
        )  # fmt: skip
        with task.progress.stage(name, epochs) as bar:
            train_round(
                network,
                z[rows],
                lambda scores, batch, w=w: cross_entropy(scores, w[batch]),  # type: ignore[misc]
                config,
                name=name,
                seed=task.seed,
                epochs=epochs,
                stage=stage,
                bar=bar,
            )


def cross_entropy(scores: Tensor, w: Tensor) -> Tensor:
    """-sum_j w_j log q_j, averaged over the batch."""
    return -(w * torch.log_softmax(scores, dim=1)).sum(dim=1).mean()


def finish(
    task: Task, start: Barycentre, network: nn.Sequential, z: Tensor, first: nn.Linear
) -> Learned:
    """The channel: q itself, or, with the label, the last plan.

    The label's potentials are by class alone: the preserved value of a new record is not known.
    A class is to use the codes as its mixture of preserved values does: sum_u P(u|s) b(j|u).
    """
    layers = [first, *(layer for layer in network if isinstance(layer, nn.Linear))]
    for layer in layers:
        layer.requires_grad_(False)
    if not task.config.use_labels:
        return Learned(NetworkReader(layers, 1.0), None)
    rows = _rows(task, task.config.rounds)
    with torch.no_grad():
        scores = log_scores(network, z[rows]) / task.config.softness
        by_value = shares(scores.mul(task.config.softness).exp(), task.u[rows], task.values)
        by_value = by_value * start.stands
        by_value = by_value / by_value.sum(dim=1, keepdim=True)
        mixture = torch.zeros(task.classes, task.values).index_put_(
            (task.s, task.u), torch.ones(len(task.s)), accumulate=True
        )
        mixture = mixture / mixture.sum(dim=1, keepdim=True).clamp_min(1)
        wanted = (mixture @ by_value).log()
        potentials = balance(
            scores, task.s[rows], wanted, steps=STEPS, relax=task.config.relax
        ).clamp_min(-1e4)
    return Learned(NetworkReader(layers, task.config.softness), potentials)


def _balanced(
    task: Task, start: Barycentre, scores: Tensor, rows: Tensor, warm: Tensor | None
) -> Tensor:
    """Potentials by cell, for the network's own code weights among each preserved value."""
    own = shares(scores.mul(task.config.softness).exp(), task.u[rows], task.values) * start.stands
    own = own / own.sum(dim=1, keepdim=True).clamp_min(1e-30)
    log_shares = own.clamp_min(1e-6 / task.codes).log().masked_fill(~start.stands, -torch.inf)
    return balance(
        scores, task.cell[rows], log_shares[task.value_of_cell],
        steps=STEPS, potentials=warm, relax=task.config.relax,
    )  # fmt: skip


def _size(task: Task) -> int:
    return min(len(task.x), max(_PLAN // task.codes, 1000))


def _rows(task: Task, number: int) -> Tensor:
    """The records of a round: all, or another random part of very many each time."""
    n = len(task.x)
    if _size(task) == n:
        return torch.arange(n)
    draw = torch.randperm(n, generator=seeded(task.seed, "rows", number))
    return draw[: _size(task)].sort().values
