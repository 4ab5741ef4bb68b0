"""`mlp`: a fresh network, trained on what it attacks until the validation part stops improving."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from withhold.attribute import Attribute
from withhold.audit.attackers.attacker import FloatArray
from withhold.losses.similarity import masked_cross_entropy
from withhold.methods.training import (
    adamw,
    cosine_rate,
    epoch_batches,
    epochs_for,
    initialise,
    seeded,
    set_rate,
    steps_per_epoch,
)
from withhold.nets.attribute import AttributeNet, FrozenAttributeNet
from withhold.nets.device import pick_device, threads, threads_for
from withhold.progress import Progress


@dataclass(frozen=True)
class Mlp:
    """d-512-256-k on standardised features, AdamW, cosine; the best epoch on val is kept."""

    name: ClassVar[str] = "mlp"
    hidden: tuple[int, ...] = (512, 256)
    epochs: int = 30
    steps: int = 1500
    patience: int = 6
    batch: int = 256
    rate: float = 2e-3
    decay: float = 0.02

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
        progress: Progress,
    ) -> MlpPrediction:
        """Train on (x, attribute), stop on (x_val, attribute_val)."""
        device = pick_device()
        mean, scale = _standard(x)
        network = AttributeNet(x.shape[1], len(attribute.classes), self.hidden)
        initialise(network, seed, "attacker", attribute.name)
        network.to(device)
        optimiser = adamw(network, rate=self.rate, decay=self.decay)
        with threads(threads_for(self.batch * x.shape[1] * self.hidden[0])):
            inputs = torch.from_numpy((x - mean) / scale).to(device)
            held = torch.from_numpy((x_val - mean) / scale).to(device)
            codes = torch.from_numpy(attribute.codes).to(device)
            held_codes = torch.from_numpy(attribute_val.codes).to(device)
            rows = torch.from_numpy(np.flatnonzero(attribute.known)).to(device)
            # Few records must not mean few steps: an attacker that did not learn proves nothing.
            size = min(self.batch, max(len(rows) // 8, 16))
            per_epoch = steps_per_epoch(len(rows), size)
            epochs = max(self.epochs, epochs_for(None, len(rows), size, steps=self.steps))
            patience = max(self.patience, epochs // 5)
            judged = bool(attribute_val.known.any())
            best, best_state, since = float("inf"), copy.deepcopy(network.state_dict()), 0
            with progress.stage(f"attacker on {attribute.name}", epochs) as bar:
                for epoch in range(epochs):
                    network.train()
                    draws = epoch_batches(
                        len(rows), size, seeded(seed, "attacker", attribute.name, epoch)
                    )
                    for step, draw in enumerate(draws):
                        done = epoch * per_epoch + step
                        set_rate(optimiser, cosine_rate(self.rate, done, epochs * per_epoch))
                        batch = rows[draw.to(device)]
                        _, p = network(inputs[batch])
                        loss = masked_cross_entropy(
                            p, codes[batch], multilabel=attribute.multilabel
                        )
                        optimiser.zero_grad(set_to_none=True)
                        loss.backward()
                        optimiser.step()
                    if not judged:  # nothing to choose by: the last epoch it is
                        bar.advance()
                        continue
                    value = _held_out_error(network, held, held_codes, attribute.multilabel)
                    bar.advance(note=f"val error {100 * value:.1f} %")
                    since += 1
                    if value < best:
                        best, best_state, since = value, copy.deepcopy(network.state_dict()), 0
                    if since >= patience or best == 0.0:
                        break
        if judged:
            network.load_state_dict(best_state)
        return MlpPrediction(network.eval().cpu().frozen(), mean, scale)


@dataclass(frozen=True, eq=False)
class MlpPrediction:
    """The fitted network with the statistics of its training features."""

    network: FrozenAttributeNet
    mean: FloatArray
    scale: FloatArray

    @torch.inference_mode()
    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        pieces = [
            self.network(torch.from_numpy((piece - self.mean) / self.scale))[1].numpy()
            for piece in np.array_split(x, max(len(x) // 4096, 1))
        ]
        return np.concatenate(pieces)


def _standard(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = x.mean(axis=0, dtype=np.float64)
    pieces = np.array_split(x, max(len(x) // 4096, 1))
    scale = np.sqrt(np.sum([np.square(p - mean).sum(axis=0) for p in pieces], axis=0) / len(x))
    # A feature that never moves in the release says nothing; do not blow up its rounding. What
    # rounding is depends on the feature alone: a small one beside large ones may hold the leak.
    scale[scale <= 1e-7 * np.abs(mean)] = 1.0
    return mean.astype(np.float32), scale.astype(np.float32)


@torch.no_grad()
def _held_out_error(network: AttributeNet, x: Tensor, codes: Tensor, multilabel: bool) -> float:
    """Share of wrong labels on val, with the cross-entropy as a faint tie-break."""
    network.eval()
    p = torch.cat([network(piece)[1] for piece in x.split(4096)])
    known = codes >= 0
    guess = (p > 0).long() if multilabel else p.argmax(dim=1)
    wrong = (guess != codes)[known].float().mean()
    if float(wrong) == 0.0:
        return 0.0
    cross = masked_cross_entropy(p, codes, multilabel=multilabel)
    return float(wrong + 1e-4 * torch.tanh(cross))
