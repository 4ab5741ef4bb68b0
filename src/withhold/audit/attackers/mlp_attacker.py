"""`mlp-small` and `mlp-large`: networks, trained until val stops improving.

Each is trained from scratch, and again (`…-warm`) from the weights of a model of the original
data, which an attacker may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    ViewName,
    attacker,
)
from withhold.learn.best_epoch import BestEpoch, held_out_error
from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.nets.device import pick_device
from withhold.learn.training import Schedule, adamw, initialise, seeded, set_rate, take_step
from withhold.records.attribute import Attribute


@dataclass(frozen=True)
class Mlp(Attacker):
    """d-hidden-k with batch norm, AdamW, cosine; the best epoch on val is kept."""

    name: ClassVar[str] = "mlp"
    view: ClassVar[ViewName] = "standard"
    raw: ClassVar[bool] = True  # also a model of the originals
    starts_warm: ClassVar[bool] = True
    hidden: tuple[int, ...] = (512, 256)
    epochs: int = 16
    steps: int = 1500
    patience: int = 4
    batch: int = 256
    rate: float = 2e-3
    decay: float = 0.02
    start: Mapping[str, npt.NDArray[Any]] | None = field(default=None, repr=False, compare=False)

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> MlpPrediction:
        """Train on (x, attribute); stop when (x_val, attribute_val) no longer improves."""
        device = pick_device()
        network = AttributeNet(x.shape[1], len(attribute.classes), self.hidden)
        initialise(network, seed, "attacker", attribute.name)
        if self.start is not None:
            network.load_state_dict({k: torch.tensor(v) for k, v in self.start.items()})
        network.to(device)
        optimiser = adamw(network, rate=self.rate, decay=self.decay)
        inputs = torch.from_numpy(np.ascontiguousarray(x)).to(device)
        held = torch.from_numpy(np.ascontiguousarray(x_val)).to(device)
        codes = torch.from_numpy(attribute.codes).to(device)
        held_codes = torch.from_numpy(attribute_val.codes).to(device)
        rows = torch.from_numpy(np.flatnonzero(attribute.known)).to(device)
        # Few records must not mean few steps: an untrained attacker proves nothing.
        size = min(self.batch, max(len(rows) // 8, 16))
        schedule = Schedule.of(len(rows), size, None, steps=self.steps)
        schedule = replace(schedule, epochs=max(self.epochs, schedule.epochs))
        patience = max(self.patience, schedule.epochs // 8)
        judged = bool(attribute_val.known.any())
        warm = judged and self.start is not None
        start = _error(network, held, held_codes, attribute) if warm else float("inf")
        best = BestEpoch(network, patience, start)
        for epoch in range(schedule.epochs):
            network.train()
            draws = seeded(seed, "attacker", attribute.name, epoch)
            for step, draw in schedule.batches(epoch, draws):
                set_rate(optimiser, schedule.cosine_rate(self.rate, step))
                batch = rows[draw.to(device)]
                _, p = network(inputs[batch])
                loss = masked_cross_entropy(p, codes[batch], multilabel=attribute.multilabel)
                take_step(optimiser, loss)
            if not judged:  # val has no labels: keep the last epoch
                continue
            if not best.look(_error(network, held, held_codes, attribute)):
                break
        if judged:
            best.restore()
        return MlpPrediction(network.eval().cpu())

    def warm(self, state: Mapping[str, npt.NDArray[Any]]) -> Mlp:
        """The same attacker, started from a fitted state at half the rate, to forget less."""
        return replace(
            self, start=state, rate=self.rate / 2, steps=self.steps // 2, epochs=self.epochs // 2
        )

    def cost(self, n: int, d: int, classes: int) -> float:
        """Multiply-adds of the steps, forward and backward."""
        sizes = (d, *self.hidden, classes)
        weights = sum(a * b for a, b in pairwise(sizes))
        steps = max(self.steps, self.epochs * n / self.batch) * 0.7
        return 0.5 + 6.0 * weights * self.batch * steps / 6e10


@attacker
@dataclass(frozen=True)
class MlpSmall(Mlp):
    """d-256-k on the reduced view: quick, and hard to overfit."""

    name: ClassVar[str] = "mlp-small"
    view: ClassVar[ViewName] = "reduced"
    hidden: tuple[int, ...] = (256,)


@attacker
@dataclass(frozen=True)
class MlpLarge(Mlp):
    """d-512-256-k on every feature."""

    name: ClassVar[str] = "mlp-large"


@dataclass(frozen=True, eq=False)
class MlpPrediction(FittedAttacker):
    """The fitted network."""

    network: AttributeNet

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The weights, for another fit to start from."""
        return {k: np.array(v.numpy()) for k, v in self.network.state_dict().items()}

    @torch.inference_mode()
    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        blocks = np.array_split(np.ascontiguousarray(x), max(len(x) // 4096, 1))
        return np.concatenate([self.network(torch.from_numpy(b))[1].numpy() for b in blocks])


@torch.no_grad()
def _error(network: AttributeNet, x: Tensor, codes: Tensor, attribute: Attribute) -> float:
    network.eval()
    p = torch.cat([network(piece)[1] for piece in x.split(4096)])
    return held_out_error(p, codes, multilabel=attribute.multilabel)
