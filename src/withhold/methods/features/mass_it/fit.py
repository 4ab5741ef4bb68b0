"""`mass-it`: limits on the bits that leak and the bits that stay (Chen et al., 2024).

A generator makes x' of x and noise. Adversaries, one for each suppressed attribute, begin as
classifiers of the originals and learn along on x'; models of the preserved attributes likewise.
The generator pays where an adversary knows more than m bits of its attribute, or a model less than
n of its own, and keeps x' telling of x otherwise. Limits that no release can meet are refused.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.learn.nets.attribute import AttributeNet
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.nets.mlp import folded
from withhold.learn.nets.space import Space
from withhold.learn.training import (
    cosine_rate,
    epoch_batches,
    epochs_for,
    seeded,
    steps_per_epoch,
    tensor_digest,
)
from withhold.methods.features.mass.terms import say_what_is_odd
from withhold.methods.features.mass_it.config import MassItConfig
from withhold.methods.features.mass_it.limits import limits_of
from withhold.methods.features.mass_it.modifier import MassItModifier
from withhold.methods.features.mass_it.players import Players, Target, targets_of
from withhold.methods.features.stages.attribute_model import train_attribute_model
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@method
class MassIt:
    """The fitter."""

    name = "mass-it"
    config_type = MassItConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = MassItModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: MassItConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> MassItModifier:
        """Check the limits, train classifiers of the originals, then generator and adversaries."""
        train = dataset.part("train")
        limits = limits_of(train, roles, config)
        progress.say(limits.told())
        device = pick_device()
        with threads(threads_for(len(train.x[: config.batch]) * train.dimension * 256.0)):
            space = Space.of(train.x)
            x = space.enter(torch.from_numpy(train.x)).to(device)
            kit: dict[str, Any] = {
                "seed": seed, "progress": progress, "journal": journal, "digest": tensor_digest(x)
            }  # fmt: skip
            attributes = [train.attribute(name) for name in roles.named]
            targets = targets_of(attributes, roles, limits, config, device)
            models = []
            for target in targets:
                attribute = train.attribute(target.name)
                say_what_is_odd(attribute, progress, balanced=config.attribute_model.balance)
                models.append(train_attribute_model(x, attribute, config.attribute_model, **kit))
            network = train_generator(x, targets, models, config, **kit)
        return MassItModifier(folded(network.cpu()), space, journal.key)


def train_generator(
    x: Tensor,
    targets: list[Target],
    models: list[AttributeNet],
    config: MassItConfig,
    *,
    seed: int,
    progress: Progress,
    journal: Journal,
    digest: str,
) -> nn.Sequential:
    """Generator and critics against the penalties, and a step of the models with each of theirs.

    x: (n, d) on the sphere; `models` in the order of `targets`, trained on x.
    """
    players = Players(x.shape[1], models, config, seed=seed).to(x.device)
    optimiser = _optimiser(players, config)
    stage = journal.stage(
        "generator", data=digest, seed=seed, config=config.model_dump(mode="json"),
        targets=[t.fingerprint() for t in targets],
    )  # fmt: skip
    first = stage.resume(players=players, optimiser=optimiser)
    per_epoch = steps_per_epoch(len(x), config.batch)
    epochs = epochs_for(config.epochs, len(x), config.batch, steps=3000)
    with progress.stage("generator", epochs) as bar:
        bar.advance(first)
        for epoch in range(first, epochs):
            players.train()
            sums: dict[str, Tensor] = {}
            generator = seeded(seed, "generator", epoch)
            for step, draw in enumerate(epoch_batches(len(x), config.batch, generator)):
                _set_rates(optimiser, config, epoch * per_epoch + step, epochs * per_epoch)
                rows = draw.to(x.device)
                noise = torch.randn(len(rows), x.shape[1], generator=generator).to(x.device)
                optimiser.zero_grad(set_to_none=True)
                losses = players.backward(x[rows], noise, rows, targets, config)
                optimiser.step()
                for name, loss in losses.items():
                    sums[name] = sums.get(name, loss.new_zeros(())) + loss
            means = {name: round(float(total) / per_epoch, 6) for name, total in sums.items()}
            stage.save(epoch + 1, means, players=players, optimiser=optimiser)
            bar.advance(note=f"loss {sum(means.values()):.3f}")
    return players.generator.network


def _optimiser(players: Players, config: MassItConfig) -> torch.optim.AdamW:
    """One AdamW with two paces, so that one file in the journal holds it."""
    fused = next(players.parameters()).device.type in ("cpu", "cuda")
    groups = [[*players.generator.parameters()],
              [*players.critics.parameters(), *players.models.parameters()]]  # fmt: skip
    return torch.optim.AdamW(
        [{"params": parameters} for parameters in groups],
        lr=config.learning_rate, weight_decay=config.weight_decay, fused=fused,
    )  # fmt: skip


def _set_rates(
    optimiser: torch.optim.Optimizer, config: MassItConfig, step: int, total: int
) -> None:
    """The generator's rate, 1e-4 b/256 and falling as a cosine, and the others' beside it."""
    rate = cosine_rate(config.learning_rate * config.batch / 256, step, total)
    generator, others = optimiser.param_groups
    generator["lr"], others["lr"] = rate, config.adversary_pace * rate
