"""`latent-adapter`: an adapter on frozen features, as in SPLAVU (Fioresi et al., ICLR 2026).

    L = w_LC ||A(z) - z||^2 + sum_r w_r CE(h_r(A(z)), r) - w_B NT-Xent(A(z_1), A(z_2))

From the paper: a small adapter on features of a frozen video encoder; heads h_r of the preserved
tasks that are trained along with it; a latent consistency term, so that tasks that nobody named
survive; and a privacy term without labels, which makes two *still* clips of one video (one frame
each, repeated) hard to tell as a pair. What they share is what does not move: who, and where.

Ours: A(z) = n(z + MLP(z)) on the unit sphere, which starts as the identity (the paper first trains
its adapter to reconstruct). The paper's best adapter is made of self-attention layers, which its
public code runs over the records of a batch; here a record's release depends on that record alone.
The tasks are attributes of the dataset; the paper also has temporal action detection and anomaly
detection. `privacy: labels` replaces the privacy term by models of the suppressed attributes that
are trained on A(z) step by step, and whose entropy the adapter raises. Without raw media, views are
made of the features.

The adapter is deterministic, and nothing in it forces information to be lost. What a retrained
attacker still reads is for the audit to say.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from withhold.core.progress import Progress
from withhold.learn.checkpoint import Part
from withhold.learn.journal import FitContext, Journal
from withhold.learn.losses.entropy import prediction_entropy
from withhold.learn.losses.nt_xent import nt_xent
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.nets.perceptron import folded
from withhold.learn.nets.space import Space
from withhold.learn.training import (
    Schedule,
    adamw,
    seeded,
    set_rate,
    take_step,
    tensor_digest,
)
from withhold.methods.features.latent_adapter.adapter_players import AdapterPlayers, AdapterTarget
from withhold.methods.features.latent_adapter.config import PRESETS, LatentAdapterConfig
from withhold.methods.features.latent_adapter.modifier import LatentAdapterModifier
from withhold.methods.features.mass.config import weight_of
from withhold.methods.features.stages.contrastive import ViewPairs
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.raw_samples import RawSamples
from withhold.records.roles import Roles


@method
class LatentAdapter:
    """The fitter."""

    name = "latent-adapter"
    config_type = LatentAdapterConfig
    presets = PRESETS
    modifier_type = LatentAdapterModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: LatentAdapterConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> LatentAdapterModifier:
        """Train the adapter with its heads, and with adversaries where labels are used."""
        train = dataset.part("train")
        device = pick_device()
        with threads(threads_for(len(train.x[: config.batch]) * train.dimension * 512.0)):
            space = Space.of(train.x)
            x = space.enter(torch.from_numpy(train.x)).to(device)
            context = FitContext(seed, progress, journal, tensor_digest(x))
            weights = weight_of(config.utility, roles.preserve, setting="utility")
            keep = [
                AdapterTarget.of(train.attribute(n), w, device) for n, w in weights.items() if w
            ]
            hide = []
            if config.suppression and config.privacy != "views":
                some = [train.attribute(name) for name in roles.suppress]
                hide = [
                    AdapterTarget.of(attribute, config.suppression, device) for attribute in some
                ]
            change = train_adapter(x, train.raw, space, keep, hide, config, context)
        return LatentAdapterModifier(folded(change.cpu()), space, journal.key)


def train_adapter(
    x: Tensor,
    raw: RawSamples | None,
    space: Space,
    keep: list[AdapterTarget],
    hide: list[AdapterTarget],
    config: LatentAdapterConfig,
    context: FitContext,
) -> nn.Sequential:
    """Minimise L over adapter and heads; adversaries minimise their own loss. x: (n, d), units."""
    players = AdapterPlayers(x.shape[1], keep, hide, config, seed=context.seed).to(x.device)
    ours = [players.adapter, *players.heads]
    optimiser = adamw(*ours, rate=config.learning_rate, decay=config.weight_decay)
    parts: dict[str, Part] = {"players": players, "optimiser": optimiser}
    against = None
    if hide:
        against = adamw(players.adversaries, rate=config.learning_rate, decay=config.weight_decay)
        parts["against"] = against
    pairs = bool(config.suppression) and config.privacy != "labels"
    stage = context.stage(
        "adapter",
        config=config.model_dump(mode="json"),
        raw=raw.fingerprint() if raw is not None and pairs else None,
        keep=[target.fingerprint() for target in keep],
        hide=[target.fingerprint() for target in hide],
    )
    schedule = Schedule.of(len(x), config.batch, config.epochs, steps=700)
    unfinished = stage.resume(**parts) < schedule.epochs
    views = ViewPairs(x, raw, space, config, context, still=True) if pairs and unfinished else None
    with context.progress.stage("adapter", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            players.train()
            generator = seeded(context.seed, "adapter", epoch.number)
            for step, draw in schedule.batches(epoch.number, generator):
                rate = schedule.cosine_rate(config.learning_rate, step)
                rows = draw.to(x.device)
                z_new = players.adapter(x[rows])
                if against is not None:
                    set_rate(against, rate)
                    take_step(against, adversary_loss(players, z_new.detach(), hide, rows))
                set_rate(optimiser, rate)
                losses = adapter_losses(players, x[rows], z_new, keep, hide, rows, config)
                if views is not None:
                    one, two = (players.adapter(v) for v in views.pair(rows, generator))
                    alike = nt_xent(one, two, temperature=config.temperature)
                    losses["views"] = -config.suppression * alike
                take_step(optimiser, torch.stack(list(losses.values())).sum())
                epoch.add(losses)
    return players.adapter.change


def adversary_loss(
    players: AdapterPlayers, z_new: Tensor, hide: list[AdapterTarget], rows: Tensor
) -> Tensor:
    """The cross-entropies of the models of suppressed attributes, on adapted features."""
    losses = [
        target.cross_entropy(model(z_new)[1], rows)
        for target, model in zip(hide, players.adversaries, strict=True)
    ]
    return torch.stack(losses).sum()


def adapter_losses(
    players: AdapterPlayers,
    z: Tensor,
    z_new: Tensor,
    keep: list[AdapterTarget],
    hide: list[AdapterTarget],
    rows: Tensor,
    config: LatentAdapterConfig,
) -> dict[str, Tensor]:
    """The terms of one batch, by name, without that of the views; z, z_new: (b, d)."""
    losses = {"consistency": config.consistency * (z_new - z).square().sum(dim=1).mean()}
    # Unit vectors have small features; linear heads would learn slowly from them.
    plain = z_new * z_new.shape[1] ** 0.5
    for target, head in zip(keep, players.heads, strict=True):
        losses[target.name] = target.weight * target.cross_entropy(head(plain), rows)
    for target, model in zip(hide, players.adversaries, strict=True):
        entropy = prediction_entropy(model(z_new)[1], multilabel=target.multilabel)
        losses[target.name] = -target.weight * entropy
    return losses
