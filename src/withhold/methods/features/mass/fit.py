"""`mass`: Multi-attribute Selective Suppression (Chen et al.), all of Eq. 1 to 9.

Frozen attribute models and a frozen contrastive encoder, all trained on the original data, steer a
modifier G(x) = n(x + n(MLP(x))). The result is deterministic and almost invertible: it defeats the
frozen models it was trained against, and an attacker retrained on the release reads nearly all of
what was suppressed. The audit says so; `docs/methods/mass.md` explains why.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.losses.nt_xent import nt_xent
from withhold.learn.losses.reconstruction import reconstruction
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.nets.modifier_net import ModifierNet
from withhold.learn.nets.perceptron import folded
from withhold.learn.nets.space import Space
from withhold.learn.training import (
    Schedule,
    adamw,
    in_blocks,
    initialise,
    seeded,
    set_rate,
    take_step,
    tensor_digest,
)
from withhold.methods.features.mass.attribute_terms import AttributeTerm, attribute_terms
from withhold.methods.features.mass.config import PRESETS, MassConfig
from withhold.methods.features.mass.modifier import MassModifier
from withhold.methods.features.stages.contrastive import train_contrastive
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@method
class Mass:
    """The fitter."""

    name = "mass"
    config_type = MassConfig
    presets = PRESETS
    modifier_type = MassModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: MassConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> MassModifier:
        """Train attribute models, contrastive encoder and modifier; each resumes separately."""
        train = dataset.part("train")
        device = pick_device()
        with threads(threads_for(len(train.x[: config.batch]) * train.dimension * 256.0)):
            space = Space.of(train.x)
            x = space.enter(torch.from_numpy(train.x)).to(device)
            context = FitContext(seed, progress, journal, tensor_digest(x))
            terms = attribute_terms(train, roles, config, x, context)
            encoder = None
            if config.agnostic:
                net = train_contrastive(x, train.raw, space, config.contrastive, context)
                encoder = net.frozen()
            change = train_modifier(x, terms, encoder, config, context)
        return MassModifier(folded(change.cpu()), space, journal.key)


def train_modifier(
    x: Tensor,
    terms: list[AttributeTerm],
    encoder: nn.Sequential | None,
    config: MassConfig,
    context: FitContext,
) -> nn.Sequential:
    """Minimise Eq. 9 over the MLP of the modifier, with all else frozen. x: (n, d), unit length."""
    network = ModifierNet(x.shape[1], config.hidden)
    initialise(network, context.seed, "modifier")
    network.to(x.device)
    optimiser = adamw(network, rate=config.learning_rate, decay=config.weight_decay)
    with torch.no_grad():
        p_star = None if encoder is None else in_blocks(encoder, x)
    stage = context.stage(
        "modifier",
        config=config.model_dump(mode="json"),
        encoder=None if p_star is None else tensor_digest(p_star),
        terms=[t.fingerprint() for t in terms],
    )
    stage.resume(network=network, optimiser=optimiser)
    schedule = Schedule.of(len(x), config.batch, config.epochs, steps=700)
    with context.progress.stage("modifier", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            network.train()
            generator = seeded(context.seed, "modifier", epoch.number)
            for step, rows in schedule.batches(epoch.number, generator):
                set_rate(optimiser, schedule.cosine_rate(config.learning_rate, step))
                losses = modifier_losses(
                    network, x, rows.to(x.device), terms, encoder, p_star, config
                )
                take_step(optimiser, torch.stack(list(losses.values())).sum())
                epoch.add(losses)
    return network.change


def modifier_losses(
    network: ModifierNet,
    x: Tensor,
    rows: Tensor,
    terms: list[AttributeTerm],
    encoder: nn.Sequential | None,
    p_star: Tensor | None,
    config: MassConfig,
) -> dict[str, Tensor]:
    """The terms of Eq. 9 on one batch, by name."""
    batch = x[rows]
    x_new = network(batch)
    losses = {}
    if config.reconstruction:
        losses["reconstruction"] = config.reconstruction * reconstruction(x_new, batch)
    if encoder is not None and p_star is not None:
        losses["agnostic"] = config.agnostic * nt_xent(
            p_star[rows], encoder(x_new), temperature=config.contrastive.temperature
        )
    for term in terms:
        losses[term.name] = term.loss(x_new, rows)
    # An ablation may switch all terms off; then the modifier keeps its initial weights.
    return losses or {"nothing": 0.0 * x_new.sum()}
