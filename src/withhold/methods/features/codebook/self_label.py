"""The solver `self-label`: a network learns a plan, and a new plan is made from the network.

In each round, (a) the network q(j | x), with dropout, learns the plan; (b) transport gives a new
plan, with cost -log q(j | x) and the network's own code weights, balanced over the suppressed
classes. A network that memorised people could not agree with a plan that is balanced over them, so
it finds what they have in common. It needs no label to read a record.

The last rounds learn a plan that is sharper and balanced to convergence: the network then agrees
with an exactly balanced plan, and its codes are more certain.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from withhold.learn.training import epochs_for
from withhold.methods.features.codebook.code_network import (
    batch_of,
    body,
    fixed_projection,
    log_scores,
    train_round,
)
from withhold.methods.features.codebook.codes import Barycentre, find_barycentre
from withhold.methods.features.codebook.learner import (
    STEPS,
    Learned,
    Task,
    label_potentials,
    scores_of,
)
from withhold.methods.features.codebook.reader import FoldedReader, NetworkReader, Reader
from withhold.methods.features.codebook.transport import balance, plan, settle, shares

Networks = list[nn.Sequential]


def self_label(task: Task) -> Learned:
    """Barycentre, then rounds of network and plan."""
    start = find_barycentre(task)
    first, networks = start_networks(task, len(start.codes))
    rounds(task, start, first, networks)
    return finish(task, start, first, networks)


def start_networks(task: Task, codes: int) -> tuple[nn.Linear, Networks]:
    """The fixed first layer, and the rest of each fold's network, untrained.

    All start from the same weights, so that a code means the same in each.
    """
    first = fixed_projection(task.x, task.config.components, task.seed)
    made = [body(first.out_features, codes, task.config, task.seed) for _ in range(task.folds)]
    return first, made


@torch.no_grad()
def project(first: nn.Linear, x: Tensor, rows: Tensor) -> Tensor:
    """The input of the network for some records, (len(rows), components)."""
    return torch.cat([first(x[part]) for part in rows.split(4096)])


def read(networks: Networks, z: Tensor, fold: Tensor) -> Tensor:
    """log q(j | x) of records z (n, p), each by the network of its fold (n,): (n, N)."""
    if len(networks) == 1:
        return log_scores(networks[0], z)
    both = [log_scores(network, z) for network in networks]
    return torch.where(fold[:, None] == 1, both[1], both[0])


def rounds(task: Task, start: Barycentre, first: nn.Linear, networks: Networks) -> None:
    """Train the networks in place. With very many records, each round uses another part.

    The plan of a record comes from the network that reads it. With two folds, that network does not
    learn from the record; the other one does.
    """
    config = task.config
    size = task.plan_rows // len(networks)
    epochs = epochs_for(config.epochs, size, batch_of(size, config), steps=280)
    potentials: Tensor | None = None
    for number in range(config.rounds + config.exact_rounds):
        exact = number >= config.rounds
        rows = task.some(task.plan_rows, "rounds", number)
        z, fold = project(first, task.x, rows), task.fold(rows)
        with torch.no_grad():
            if number == 0:
                scores = scores_of(start.reader(), task, rows)
                w = plan(scores, task.cell[rows], start.potentials)
            else:
                if number == config.rounds:
                    potentials = None  # potentials of softer scores are a bad start
                softness = config.exact_softness if exact else config.softness
                log_q = read(networks, z, fold)
                potentials = _balanced(task, start, log_q, softness, rows, potentials, exact=exact)
                w = plan(log_q / softness, task.cell[rows], potentials)
        for which, network in enumerate(networks):
            taught = torch.arange(len(z)) if len(networks) == 1 else (fold != which).nonzero()[:, 0]
            name = f"{task.name} round {number + 1}" + (" b" if which else "")
            _teach(task, network, z[taught], w[taught], name, epochs)


def _teach(
    task: Task, network: nn.Sequential, z: Tensor, w: Tensor, name: str, epochs: int
) -> None:
    """One round of one network on its plan w (n, N)."""
    with task.progress.stage(name, epochs) as bar:
        train_round(
            network,
            z,
            lambda scores, batch: cross_entropy(scores, w[batch]),
            task.config,
            name=name,
            seed=task.seed,
            epochs=epochs,
            stage=task.stage(name),
            bar=bar,
        )


def cross_entropy(scores: Tensor, w: Tensor) -> Tensor:
    """-sum_j w_j log q_j, averaged over the batch."""
    return -(w * torch.log_softmax(scores, dim=1)).sum(dim=1).mean()


def finish(task: Task, start: Barycentre, first: nn.Linear, networks: Networks) -> Learned:
    """The channel: q itself, or, with the label, the last plan.

    The label's potentials are by class alone, because the preserved value of a new record is not
    known. A class should use the codes as its mixture of preserved values: sum_u P(u|s) b(j|u).
    """
    power = task.config.sharpness or 1.0
    if not task.config.use_labels:
        return Learned(_reader(task, first, networks, 1 / power))
    rows = task.some(task.plan_rows, "rounds", task.config.rounds)
    reader = _reader(task, first, networks, task.config.softness / power)
    with torch.no_grad():
        log_q = read(networks, project(first, task.x, rows), task.fold(rows))
        wanted = (task.mixture() @ _own_shares(task, start, log_q, rows)).log()
        return Learned(reader, label_potentials(reader, task, rows, wanted), wanted)


def _reader(task: Task, first: nn.Linear, networks: Networks, softness: float) -> Reader:
    """The networks as one reader."""
    made = []
    for network in networks:
        layers = [first, *(layer for layer in network if isinstance(layer, nn.Linear))]
        for layer in layers:
            layer.requires_grad_(False)
        made.append(NetworkReader(layers, softness))
    return made[0] if len(made) == 1 else FoldedReader(made[0], made[1], task.journal.key)


def _own_shares(task: Task, start: Barycentre, log_q: Tensor, rows: Tensor) -> Tensor:
    """The network's own code weights among each preserved value, (U, N), on its own codes."""
    own = shares(log_q.exp(), task.u[rows], task.values)
    own = own.clamp_min(1e-6 / task.codes) * start.stands
    return own / own.sum(dim=1, keepdim=True)


def _balanced(
    task: Task,
    start: Barycentre,
    log_q: Tensor,
    softness: float,
    rows: Tensor,
    warm: Tensor | None,
    *,
    exact: bool,
) -> Tensor:
    """Potentials by cell, for the network's own code weights among each preserved value."""
    wanted = _own_shares(task, start, log_q, rows).log()[task.value_of_cell]
    scores, cell, relax = log_q / softness, task.cell[rows], task.config.relax
    if exact:
        return settle(scores, cell, wanted, relax=relax, potentials=warm)
    return balance(scores, cell, wanted, steps=STEPS, potentials=warm, relax=relax)
