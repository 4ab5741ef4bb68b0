"""The solver `self-label`: a network learns the plan, the plan is made again from the network.

Round by round: (a) the network q(j | x), with dropout, learns the plan; (b) the plan is transport
again, with cost -log q(j | x) and the network's own code weights, balanced over the suppressed
classes. The network cannot learn people by heart and still agree with a plan that is balanced over
them, so it finds what they share. What it reads needs no label.

The last rounds learn a plan that is sharper and balanced to convergence: the network then agrees
with a plan that holds exactly, and reads the codes more surely.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from withhold.methods.codebook.codes import Barycentre, find_barycentre
from withhold.methods.codebook.learner import STEPS, Learned, Task, label_potentials, scores_of
from withhold.methods.codebook.network import batch_of, body, eyes, log_scores, train_round
from withhold.methods.codebook.reader import NetworkReader
from withhold.methods.codebook.transport import balance, plan, settle, shares
from withhold.methods.training import epochs_for


def self_label(task: Task) -> Learned:
    """Barycentre, then rounds of network and plan."""
    start = find_barycentre(task)
    first, network = start_network(task, len(start.codes))
    rounds(task, start, first, network)
    return finish(task, start, first, network)


def start_network(task: Task, codes: int) -> tuple[nn.Linear, nn.Sequential]:
    """The fixed first layer, and the rest, untrained."""
    first = eyes(task.x, task.config.components, task.seed)
    return first, body(first.out_features, codes, task.config, task.seed)


@torch.no_grad()
def look(first: nn.Linear, x: Tensor, rows: Tensor) -> Tensor:
    """What the network is shown of some records, (len(rows), components)."""
    return torch.cat([first(x[part]) for part in rows.split(4096)])


def rounds(task: Task, start: Barycentre, first: nn.Linear, network: nn.Sequential) -> None:
    """Train the network in place. Of very many records each round takes another part."""
    config = task.config
    size = task.plan_rows
    epochs = epochs_for(config.epochs, size, batch_of(size, config), steps=280)
    potentials: Tensor | None = None
    for number in range(config.rounds + config.exact_rounds):
        name = f"{task.name} round {number + 1}"
        exact = number >= config.rounds
        rows = task.some(task.plan_rows, "rounds", number)
        z = look(first, task.x, rows)
        with torch.no_grad():
            if number == 0:
                scores = scores_of(start.reader(), task, rows)
                w = plan(scores, task.cell[rows], start.potentials)
            else:
                if number == config.rounds:
                    potentials = None  # those of softer scores are far off
                softness = config.exact_softness if exact else config.softness
                log_q = log_scores(network, z)
                potentials = _balanced(task, start, log_q, softness, rows, potentials, exact=exact)
                w = plan(log_q / softness, task.cell[rows], potentials)
        stage = task.stage(name)
        with task.progress.stage(name, epochs) as bar:
            train_round(
                network,
                z,
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


def finish(task: Task, start: Barycentre, first: nn.Linear, network: nn.Sequential) -> Learned:
    """The channel: q itself, or, with the label, the last plan.

    The label's potentials are by class alone: the preserved value of a new record is not known.
    A class is to use the codes as its mixture of preserved values does: sum_u P(u|s) b(j|u).
    """
    layers = [first, *(layer for layer in network if isinstance(layer, nn.Linear))]
    for layer in layers:
        layer.requires_grad_(False)
    if not task.config.use_labels:
        return Learned(NetworkReader(layers, 1 / (task.config.sharpness or 1.0)))
    rows = task.some(task.plan_rows, "rounds", task.config.rounds)
    softness = task.config.softness / (task.config.sharpness or 1.0)
    reader = NetworkReader(layers, softness)
    with torch.no_grad():
        log_q = log_scores(network, look(first, task.x, rows))
        wanted = (task.mixture() @ _own_shares(task, start, log_q, rows)).log()
        return Learned(reader, label_potentials(reader, task, rows, wanted), wanted)


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
