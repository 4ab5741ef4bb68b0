"""`pass`: each record is replaced by a sampled substitute (Chen et al., 2025).

A substitute is one of N training records, J ~ P(j|x). The channel is learned with three aims.
Within each class of a suppressed attribute, all candidates are drawn as evenly as possible, so the
draw reveals nothing about the class. The substitute has the record's own preserved labels. The draw
is sharp, so that it keeps the rest of the record.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.learn.nets.device import pick_device, threads, threads_for
from withhold.learn.nets.perceptron import folded, unit
from withhold.learn.nets.space import Space
from withhold.learn.training import (
    Schedule,
    adamw,
    seeded,
    set_rate,
    take_step,
    tensor_digest,
)
from withhold.methods.features.pass_.channel_terms import LabelTerm, channel_losses, label_terms
from withhold.methods.features.pass_.config import PassConfig
from withhold.methods.features.pass_.modifier import PassModifier
from withhold.methods.features.pass_.substitute_net import SubstituteNet
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@method
class Pass:
    """The fitter."""

    name = "pass"
    config_type = PassConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = PassModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: PassConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> PassModifier:
        """Choose candidates from the training part, then learn the channel to them."""
        progress.say(
            "pass releases unchanged training records in place of others: every candidate is"
            " published"
        )
        train = dataset.part("train")
        device = pick_device()
        records, candidates = (min(len(train), n) for n in (config.batch, config.candidates))
        with threads(threads_for(float(records) * candidates * config.embedding)):
            space = Space.of(train.x)
            x = space.enter(torch.from_numpy(train.x)).to(device)
            chosen = choose(train, roles, config.candidates, seed=seed)
            terms = label_terms(train, roles, config, device)
            say_what_cannot_be_kept(train, terms, chosen, progress)
            context = FitContext(seed, progress, journal, tensor_digest(x))
            net = train_channel(x, chosen.to(device), terms, config, context).cpu()
        return PassModifier(
            train.x[chosen.numpy()],
            journal.key,
            folded(net.embed),
            unit(net.table.detach()),
            space,
            temperature=config.temperature,
        )


def choose(train: Dataset, roles: Roles, count: int, *, seed: int) -> Tensor:
    """Rows of the candidates, in order: at random among those whose preserved labels are known.

    Without its labels, it is unknown for which records a candidate is right.
    """
    known = torch.ones(len(train), dtype=torch.bool)
    for name in roles.preserve:
        known &= torch.from_numpy(train.attribute(name).known)
    pool = known.nonzero()[:, 0] if known.any() else torch.arange(len(train))
    order = torch.randperm(len(pool), generator=seeded(seed, "candidates"))
    return pool[order[:count]].sort().values


def train_channel(
    x: Tensor, chosen: Tensor, terms: list[LabelTerm], config: PassConfig, context: FitContext
) -> SubstituteNet:
    """Minimise the terms over f and the g_j. x: (n, d) on the sphere; candidates are x[chosen]."""
    network = SubstituteNet(
        x[chosen], config.hidden, config.embedding, config.temperature, seed=context.seed
    )
    optimiser = adamw(network, rate=config.learning_rate, decay=config.weight_decay)
    stage = context.stage(
        "channel",
        config=config.model_dump(mode="json"),
        candidates=tensor_digest(chosen),
        terms=[t.fingerprint() for t in terms],
    )
    stage.resume(network=network, optimiser=optimiser)
    schedule = Schedule.of(len(x), config.batch, config.epochs, steps=1500)
    with context.progress.stage("channel", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            network.train()
            generator = seeded(context.seed, "channel", epoch.number)
            for step, draw in schedule.batches(epoch.number, generator):
                set_rate(optimiser, schedule.cosine_rate(config.learning_rate, step))
                rows = draw.to(x.device)
                losses = channel_losses(network(x[rows]), x, rows, chosen, terms, config)
                take_step(optimiser, torch.stack(list(losses.values())).sum())
                epoch.add(losses)
    return network.eval()


def say_what_cannot_be_kept(
    train: Dataset, terms: list[LabelTerm], chosen: Tensor, progress: Progress
) -> None:
    """Warn about classes to preserve that no candidate has."""
    for term in terms:
        if term.suppress or term.multilabel:
            continue
        attribute = train.attribute(term.name)
        held = attribute.rows(chosen.numpy()).counts
        absent = [
            c for c, all_, n in zip(attribute.classes, attribute.counts, held, strict=True)
            if all_ and not n
        ]  # fmt: skip
        if absent:
            shown = ", ".join(absent[:3]) + (", …" if len(absent) > 3 else "")
            progress.say(
                f"attribute '{term.name}': {len(absent)} of {len(held)} classes have no candidate"
                f" ({shown}), so their records change class; more candidates would keep them"
            )
