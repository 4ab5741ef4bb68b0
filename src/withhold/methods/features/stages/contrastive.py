"""Pre-train the attribute-agnostic encoder with a contrastive loss (MaSS, B.1; SimCLR)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from withhold.learn.journal import FitContext
from withhold.learn.losses.nt_xent import nt_xent
from withhold.learn.nets.contrastive_net import ContrastiveNet
from withhold.learn.nets.perceptron import unit
from withhold.learn.nets.space import Space
from withhold.learn.training import (
    Schedule,
    initialise,
    seeded,
    set_rate,
    stage_seed,
    take_step,
)
from withhold.methods.features.method_config import MethodConfig
from withhold.records.raw_samples import RawSamples


class ContrastiveConfig(MethodConfig):
    """Settings of the contrastive pre-training; as in the papers, except for the epochs."""

    epochs: int | None = Field(
        None, ge=1, description="passes over the data; unset: about 400 steps (papers: 100 passes)"
    )
    batch: int = Field(512, ge=2, description="records per step")
    learning_rate: float = Field(0.05, gt=0)
    momentum: float = Field(0.9, ge=0, lt=1)
    weight_decay: float = Field(1e-4, ge=0)
    temperature: float = Field(0.07, ge=0.01, description="tau of NT-Xent")
    projection: int = Field(128, ge=1, description="outputs of the projector")
    draws: int = Field(4, ge=1, description="augmented copies kept of each raw sample and view")
    noise: float = Field(0.5, ge=0, description="feature-space views: noise / typical feature")
    drop: float = Field(
        0.2, ge=0, lt=1, description="feature-space views: share of features zeroed"
    )


class ViewSettings(Protocol):
    """The settings that `ViewPairs` needs."""

    @property
    def draws(self) -> int:
        """Copies kept of each raw sample and view."""

    @property
    def noise(self) -> float:
        """Views of features: noise / typical feature."""

    @property
    def drop(self) -> float:
        """Views of features: share of features that are zeroed."""


class ViewPairs:
    """Two views of each record, made from the raw samples or, if there are none, the features.

    With `still`, views of clips show one frame each, repeated.
    """

    def __init__(
        self,
        x: Tensor,
        raw: RawSamples | None,
        space: Space,
        config: ViewSettings,
        context: FitContext,
        *,
        still: bool = False,
    ) -> None:
        self.x, self.config = x, config
        self.cache: list[tuple[Tensor, Tensor]] = []
        if raw is None:
            context.progress.say(
                "contrastive views are made from the features (noise and dropped features), because"
                " the raw media were not given"
            )
            return
        rows = np.arange(len(x))
        fingerprint = raw.fingerprint()
        for draw in range(config.draws):
            drawn = stage_seed(context.seed, "views", draw)

            def make(drawn: int = drawn) -> dict[str, Tensor]:
                make_pair = raw.stills if still else raw.views
                pair = make_pair(rows, seed=drawn, progress=context.progress)
                return dict(zip(("first", "second"), map(torch.from_numpy, pair), strict=True))

            # Extraction is the most expensive part of a fit, so a resumed fit reuses its views.
            pair = context.journal.kept(
                "stills" if still else "views", f"{fingerprint} {drawn}", make
            )
            first, second = (space.enter(pair[n].to(x.device)) for n in ("first", "second"))
            self.cache.append((first, second))

    def pair(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Two views of `rows`: tensors (b, d), unit length."""
        if self.cache:
            a, b = torch.randint(len(self.cache), (2,), generator=generator).tolist()
            return self.cache[a][0][rows], self.cache[b][1][rows]
        x = self.x[rows]
        return self._disturb(x, generator), self._disturb(x, generator)

    def _disturb(self, x: Tensor, generator: torch.Generator) -> Tensor:
        scale = self.config.noise / x.shape[1] ** 0.5  # a feature of a unit vector
        noise = torch.randn(x.shape, generator=generator).to(x.device)
        keep = torch.rand(x.shape, generator=generator).to(x.device) >= self.config.drop
        return unit((x + scale * noise) * keep)


def train_contrastive(
    x: Tensor,
    raw: RawSamples | None,
    space: Space,
    config: ContrastiveConfig,
    context: FitContext,
) -> ContrastiveNet:
    """NT-Xent between two views, SGD, cosine schedule. x: (n, d) on the sphere."""
    network = ContrastiveNet(x.shape[1], config.projection)
    initialise(network, context.seed, "contrastive")
    network.to(x.device)
    optimiser = torch.optim.SGD(
        network.parameters(),
        lr=config.learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    stage = context.stage(
        "contrastive",
        raw=None if raw is None else raw.fingerprint(),
        config=config.model_dump(mode="json"),
    )
    schedule = Schedule.of(len(x), config.batch, config.epochs, steps=400)
    if stage.resume(network=network, optimiser=optimiser) < schedule.epochs:
        views = ViewPairs(x, raw, space, config, context)
    with context.progress.stage("contrastive encoder", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            network.train()
            generator = seeded(context.seed, "contrastive", epoch.number)
            for step, rows in schedule.batches(epoch.number, generator):
                set_rate(optimiser, schedule.cosine_rate(config.learning_rate, step))
                one, two = views.pair(rows.to(x.device), generator)
                loss = nt_xent(network(one), network(two), temperature=config.temperature)
                take_step(optimiser, loss)
                epoch.add({"loss": loss})
    return network.eval()
