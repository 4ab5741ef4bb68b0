"""What training loops share: seeds, batches, the learning rate, one step of an optimiser.

A loop stays in the file of its method and reads from top to bottom:

    schedule = Schedule.of(len(x), config.batch, config.epochs, steps=700)
    stage.resume(network=network, optimiser=optimiser)
    with progress.stage("modifier", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            for step, rows in schedule.batches(epoch.number, seeded(seed, epoch.number)):
                set_rate(optimiser, schedule.cosine_rate(config.learning_rate, step))
                loss = ...
                take_step(optimiser, loss)
                epoch.add({"loss": loss})
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn


def stage_seed(seed: int, *names: object) -> int:
    """A seed for one purpose, so that adding a stage does not change the draws of another."""
    text = ":".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def seeded(seed: int, *names: object) -> torch.Generator:
    """A generator for one purpose, on the CPU so that every device draws alike."""
    return torch.Generator().manual_seed(stage_seed(seed, *names))


def initialise(network: nn.Module, seed: int, *names: object) -> None:
    """Draw the weights of every layer from the seed, as torch draws them by default.

    A layer with parameters of its own and no `reset_parameters` is refused: there is no rule to
    draw it by, and two networks of one seed would differ.
    """
    generator = seeded(seed, "weights", *names)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stage_seed(seed, "layers", *names))
        for layer in network.modules():
            if isinstance(layer, nn.Linear):
                bound = 1 / math.sqrt(layer.in_features)
                with torch.no_grad():
                    layer.weight.uniform_(-bound, bound, generator=generator)
                    if layer.bias is not None:
                        layer.bias.uniform_(-bound, bound, generator=generator)
            elif (reset := _own_reset(layer)) is not None:
                reset()
            elif next(layer.parameters(recurse=False), None) is not None:
                raise TypeError(
                    f"{type(layer).__name__} has parameters and no reset_parameters(), so that its"
                    " start cannot be drawn from the seed"
                )


def _own_reset(layer: nn.Module) -> Callable[[], None] | None:
    """How the layer draws its weights; attention and transformers have it under a private name."""
    found: Callable[[], None] | None = getattr(layer, "reset_parameters", None)
    return found or getattr(layer, "_reset_parameters", None)


def steps_per_epoch(n: int, batch: int) -> int:
    """Whole batches in n records; 1 if there are fewer records than a batch has."""
    return max(n // batch, 1)


def epochs_for(epochs: int | None, n: int, batch: int, *, steps: int) -> int:
    """The epochs set, or as many as make about `steps` steps: at least 5, at most 300.

    The papers' 100 epochs are about 3,500 steps on AudioMNIST. On a small table, 100 epochs would
    be too few steps to learn anything; on a large one, they would be a waste.
    """
    return epochs or min(max(-(-steps // steps_per_epoch(n, batch)), 5), 300)


def epoch_batches(n: int, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Row indices of the batches of one epoch, in random order.

    An incomplete last batch is dropped, because batch norm and NT-Xent depend on the batch size.
    """
    order = torch.randperm(n, generator=generator)
    for step in range(steps_per_epoch(n, batch)):
        yield order[step * batch : (step + 1) * batch]


def cosine_rate(base: float, step: int, total: int) -> float:
    """The learning rate at `step` of `total`: base (1 + cos(pi step / total)) / 2.

    It depends on the step alone, so a resumed fit continues with the same bits. torch's
    CosineAnnealingLR computes each rate from the one before: it differs in the last bits at 602 of
    700 steps, and every checkpoint would have to hold its state.
    """
    return base * 0.5 * (1 + math.cos(math.pi * step / max(total, 1)))


@dataclass(frozen=True)
class Schedule:
    """Some epochs over a number of records, in whole batches."""

    records: int
    batch: int
    epochs: int

    @classmethod
    def of(cls, records: int, batch: int, epochs: int | None, *, steps: int) -> Schedule:
        """`epochs` epochs, or as many as make about `steps` steps."""
        return cls(records, batch, epochs_for(epochs, records, batch, steps=steps))

    @property
    def steps(self) -> int:
        """Steps of all epochs together."""
        return self.epochs * steps_per_epoch(self.records, self.batch)

    def batches(self, epoch: int, generator: torch.Generator) -> Iterator[tuple[int, Tensor]]:
        """The number of each step, counted from the first epoch, and the rows of its batch."""
        first = epoch * steps_per_epoch(self.records, self.batch)
        return enumerate(epoch_batches(self.records, self.batch, generator), first)

    def cosine_rate(self, base: float, step: int) -> float:
        """The learning rate at a step: `base` at the first, falling to 0 as a cosine."""
        return cosine_rate(base, step, self.steps)


def set_rate(optimiser: torch.optim.Optimizer, *rates: float) -> None:
    """Set the learning rate of each group of parameters; a single rate is for all groups."""
    groups = optimiser.param_groups
    for group, rate in zip(groups, rates * len(groups) if len(rates) == 1 else rates, strict=True):
        group["lr"] = rate


def adamw(*networks: nn.Module, rate: float, decay: float) -> torch.optim.AdamW:
    """AdamW with a group of parameters for each network.

    The update is fused into one pass over memory where the device can do that.
    """
    device = next(networks[0].parameters()).device.type
    groups = [{"params": [*network.parameters()]} for network in networks]
    return torch.optim.AdamW(groups, lr=rate, weight_decay=decay, fused=device in ("cpu", "cuda"))


def take_step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step of the optimiser down the gradient of the loss."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


def in_blocks(network: nn.Module, x: Tensor, rows: int = 4096) -> Tensor:
    """network(x) without holding the activations of all records at once."""
    return torch.cat([network(piece) for piece in x.split(rows)])


def tensor_digest(x: Tensor) -> str:
    """SHA-256 of the numbers of a tensor."""
    return hashlib.sha256(x.detach().cpu().contiguous().numpy().data).hexdigest()
