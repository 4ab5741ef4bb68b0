"""Train an attribute model on the original data (MaSS, B.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from torch import Tensor

from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.learn.nets.attribute import AttributeNet
from withhold.learn.training import (
    adamw,
    cosine_rate,
    epoch_batches,
    epochs_for,
    initialise,
    seeded,
    set_rate,
    steps_per_epoch,
)
from withhold.records.attribute import Attribute


class AttributeModelConfig(BaseModel):
    """Settings of the attribute models; the papers' are the defaults, but for the epochs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: tuple[PositiveInt, ...] = Field((512, 256), min_length=1, description="widths of F")
    epochs: int | None = Field(
        None, ge=1, description="passes over the labelled records; unset: about 600 steps"
    )
    batch: int = Field(256, ge=2, description="records a step")
    learning_rate: float = Field(0.01, gt=0)
    weight_decay: float = Field(0.05, ge=0)
    balance: bool = Field(False, description="weigh classes by the inverse of their frequency")


def train_attribute_model(
    x: Tensor,
    attribute: Attribute,
    config: AttributeModelConfig,
    *,
    seed: int,
    progress: Progress,
    journal: Journal,
    digest: str,
) -> AttributeNet:
    """Cross-entropy, AdamW, cosine schedule; records without a label are masked.

    x: (n, d) on the device to train on; the attribute holds n labels. `digest` names the data.
    """
    name = attribute.name
    network = AttributeNet(x.shape[1], len(attribute.classes), config.hidden)
    initialise(network, seed, "attribute", name)
    network.to(x.device)
    optimiser = adamw(network, rate=config.learning_rate, decay=config.weight_decay)
    stage = journal.stage(
        f"attribute {name}", data=digest, labels=_labels_digest(attribute), seed=seed,
        config=config.model_dump(mode="json"),
    )  # fmt: skip
    first = stage.resume(network=network, optimiser=optimiser)

    rows = torch.from_numpy(np.flatnonzero(attribute.known)).to(x.device)
    codes = torch.from_numpy(attribute.codes).to(x.device)
    weight = class_weights(attribute).to(x.device) if config.balance else None
    per_epoch = steps_per_epoch(len(rows), config.batch)
    epochs = epochs_for(config.epochs, len(rows), config.batch, steps=600)
    with progress.stage(f"attribute model {name}", epochs) as bar:
        bar.advance(first)
        for epoch in range(first, epochs):
            network.train()
            total = torch.zeros((), device=x.device)
            draws = epoch_batches(len(rows), config.batch, seeded(seed, "attribute", name, epoch))
            for step, draw in enumerate(draws):
                done = epoch * per_epoch + step
                set_rate(optimiser, cosine_rate(config.learning_rate, done, epochs * per_epoch))
                batch = rows[draw.to(x.device)]
                _, p = network(x[batch])
                loss = masked_cross_entropy(
                    p, codes[batch], multilabel=attribute.multilabel, weight=weight
                )
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                total += loss.detach()
            mean = float(total) / per_epoch
            stage.save(epoch + 1, {"loss": round(mean, 6)}, network=network, optimiser=optimiser)
            bar.advance(note=f"loss {mean:.3f}")
    return network.eval()


def class_weights(attribute: Attribute) -> Tensor:
    """n / (k n_c) for each class; for a multi-label attribute, negatives / positives."""
    counts = np.maximum(attribute.counts, 1)
    if attribute.multilabel:
        negatives = np.maximum((attribute.codes == 0).sum(axis=0), 1)
        return torch.from_numpy((negatives / counts).astype(np.float32))
    weights: npt.NDArray[np.float64] = counts.sum() / (len(counts) * counts)
    return torch.from_numpy(weights.astype(np.float32))


def _labels_digest(attribute: Attribute) -> str:
    import hashlib

    h = hashlib.sha256(repr(attribute.classes).encode())
    h.update(np.ascontiguousarray(attribute.codes).data)
    return h.hexdigest()
