"""q(j | x): a network that learns a plan. Dropout keeps it from memorising single records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from withhold.core.progress import Stage
from withhold.learn.journal import StageJournal
from withhold.learn.nets.device import threads, threads_for
from withhold.learn.nets.dropout import ByteDropout
from withhold.learn.nets.perceptron import linear
from withhold.learn.training import (
    Schedule,
    adamw,
    initialise,
    seeded,
    set_rate,
    stage_seed,
    take_step,
)
from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.metric import principal

Loss = Callable[[Tensor, Tensor], Tensor]
_PROJECTED = 60_000  # records that the principal components are computed from


def fixed_projection(x: Tensor, components: int, seed: int) -> nn.Linear:
    """The fixed first layer: standardise, and keep the principal components at their own scale.

    Components of small variance stay small, so they hardly move the network. That gains more
    than a point of accuracy over standardising all features. Overall scale: deviation 1.
    """
    if len(x) > _PROJECTED:
        # "eyes" is an old name; another one would change all results.
        order = torch.randperm(len(x), generator=seeded(seed, "eyes"))
        x = x[order[:_PROJECTED].sort().values]
    mean = x.double().mean(dim=0).float()
    deviation = x.double().std(dim=0).float()
    # Rounding gives a constant column a deviation that is not quite 0.
    varies = deviation > 1e-6 * mean.abs().clamp_min(1e-12)
    scale = torch.where(varies, 1 / deviation.clamp_min(1e-30), 0.0)
    directions, spread = principal((x - mean) * scale, components, stage_seed(seed, "eyes"))
    weight = (directions * scale[:, None] / spread.mean()).T
    return linear(weight, -weight @ mean)


def body(inputs: int, outputs: int, config: CodebookConfig, seed: int) -> nn.Sequential:
    """Dropout, linear, ReLU … to the log-scores of the codes."""
    sizes = [inputs, *config.hidden, outputs]
    layers: list[nn.Module] = []
    for i, (one, two) in enumerate(pairwise(sizes)):
        share = config.dropout[min(i, len(config.dropout) - 1)]
        layers += [ByteDropout(share), nn.Linear(one, two), nn.ReLU()]
    made = nn.Sequential(*layers[:-1])
    initialise(made, seed, "codebook")
    return made


def batch_of(n: int, config: CodebookConfig) -> int:
    """Records per step: the setting, but at most an eighth of the records."""
    return max(min(config.batch, n // 8), min(n, 2))


def train_round(
    network: nn.Sequential,
    z: Tensor,
    loss: Loss,
    config: CodebookConfig,
    *,
    name: str,
    seed: int,
    epochs: int,
    stage: StageJournal,
    bar: Stage,
    begin: Callable[[], None] | None = None,
) -> None:
    """One round: minimise loss(log-scores of a batch, its rows). The rate falls to a tenth.

    `begin` is called before each epoch. There a loss recomputes its running state from the network
    alone, so that an interrupted fit resumes to the same bytes.
    """
    optimiser = adamw(network, rate=config.learning_rate, decay=config.weight_decay)
    stage.resume(network=network, optimiser=optimiser)
    schedule = Schedule(len(z), batch_of(len(z), config), epochs)
    weights = sum(layer.weight.numel() for layer in network if isinstance(layer, nn.Linear))
    drops = [layer for layer in network if isinstance(layer, ByteDropout)]
    with threads(threads_for(schedule.batch * weights)):
        for epoch in stage.epochs(epochs, bar):
            if begin is not None:
                begin()
            network.train()
            for i, layer in enumerate(drops):
                layer.reseed(stage_seed(seed, name, "dropout", epoch.number, i))
            for step, rows in schedule.batches(epoch.number, seeded(seed, name, epoch.number)):
                set_rate(optimiser, config.learning_rate * (1 - 0.9 * (step / schedule.steps)))
                found = loss(network(z[rows]), rows)
                take_step(optimiser, found)
                epoch.add({"loss": found.item()})
    network.eval()


@torch.inference_mode()
def log_scores(network: nn.Sequential, z: Tensor) -> Tensor:
    """log q(j | x), (n, N)."""
    network.eval()
    return torch.cat([torch.log_softmax(network(part), dim=1) for part in z.split(4096)])
