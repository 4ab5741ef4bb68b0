"""`mass-it`: limits on the bits that leak and the bits that stay (Chen et al., 2024).

A generator makes x' from x and noise. There is an adversary for each suppressed attribute and a
model for each preserved one. They start as classifiers of the originals and keep learning from x'.
The generator pays a penalty if an adversary knows more than m bits of its attribute, or a model
less than n bits. Apart from that, x' should reveal as much about x as possible. Limits that no
release can meet are refused.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.nets.perceptron import folded
from withhold.learn.nets.space import Space
from withhold.learn.training import Schedule, adamw, seeded, set_rate, tensor_digest
from withhold.methods.features.mass.attribute_terms import say_what_is_odd
from withhold.methods.features.mass_it.config import MassItConfig
from withhold.methods.features.mass_it.limits import limits_of
from withhold.methods.features.mass_it.mass_it_players import (
    MassItPlayers,
    MassItTarget,
    targets_of,
)
from withhold.methods.features.mass_it.modifier import MassItModifier
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
            context = FitContext(seed, progress, journal, tensor_digest(x))
            attributes = [train.attribute(name) for name in roles.named]
            targets = targets_of(attributes, roles, limits, config, device)
            models = []
            for target in targets:
                attribute = train.attribute(target.name)
                say_what_is_odd(attribute, progress, balanced=config.attribute_model.balance)
                models.append(train_attribute_model(x, attribute, config.attribute_model, context))
            network = train_generator(x, targets, models, config, context)
        return MassItModifier(folded(network.cpu()), space, journal.key)


def train_generator(
    x: Tensor,
    targets: list[MassItTarget],
    models: list[AttributeNet],
    config: MassItConfig,
    context: FitContext,
) -> nn.Sequential:
    """Train generator and critics against the penalties, with a step of the models at each step.

    x: (n, d) on the sphere. `models` are in the order of `targets` and were trained on x.
    """
    players = MassItPlayers(x.shape[1], models, config, seed=context.seed).to(x.device)
    others = nn.ModuleList([players.critics, players.models])
    optimiser = adamw(
        players.generator, others, rate=config.learning_rate, decay=config.weight_decay
    )
    stage = context.stage(
        "generator",
        config=config.model_dump(mode="json"),
        targets=[t.fingerprint() for t in targets],
    )
    stage.resume(players=players, optimiser=optimiser)
    schedule = Schedule.of(len(x), config.batch, config.epochs, steps=3000)
    with context.progress.stage("generator", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            players.train()
            generator = seeded(context.seed, "generator", epoch.number)
            for step, draw in schedule.batches(epoch.number, generator):
                # The setting is for a batch of 256.
                rate = schedule.cosine_rate(config.learning_rate * config.batch / 256, step)
                set_rate(optimiser, rate, config.adversary_pace * rate)
                rows = draw.to(x.device)
                noise = torch.randn(len(rows), x.shape[1], generator=generator).to(x.device)
                optimiser.zero_grad(set_to_none=True)
                losses = players.backward(x[rows], noise, rows, targets, config)
                optimiser.step()
                epoch.add(losses)
    return players.generator.network
