"""Train an attribute model on the original data (MaSS, B.2)."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field, PositiveInt
from torch import Tensor

from withhold.learn.journal import FitContext
from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.learn.nets.attribute_net import AttributeNet
from withhold.learn.training import (
    Schedule,
    adamw,
    initialise,
    seeded,
    set_rate,
    take_step,
)
from withhold.methods.features.method_config import MethodConfig
from withhold.records.attribute import Attribute


class AttributeModelConfig(MethodConfig):
    """Settings of the attribute models; the defaults are the papers', except for the epochs."""

    hidden: tuple[PositiveInt, ...] = Field((512, 256), min_length=1, description="widths of F")
    epochs: int | None = Field(
        None, ge=1, description="passes over the labelled records; unset: about 600 steps"
    )
    batch: int = Field(256, ge=2, description="records per step")
    learning_rate: float = Field(0.01, gt=0)
    weight_decay: float = Field(0.05, ge=0)
    balance: bool = Field(False, description="weigh classes by the inverse of their frequency")


def train_attribute_model(
    x: Tensor, attribute: Attribute, config: AttributeModelConfig, context: FitContext
) -> AttributeNet:
    """Cross-entropy, AdamW, cosine schedule; records without a label are masked.

    x: (n, d) on the device to train on; the attribute holds n labels.
    """
    name = attribute.name
    network = AttributeNet(x.shape[1], len(attribute.classes), config.hidden)
    initialise(network, context.seed, "attribute", name)
    network.to(x.device)
    optimiser = adamw(network, rate=config.learning_rate, decay=config.weight_decay)
    stage = context.stage(
        f"attribute {name}",
        labels=_labels_digest(attribute),
        config=config.model_dump(mode="json"),
    )
    stage.resume(network=network, optimiser=optimiser)

    rows = torch.from_numpy(np.flatnonzero(attribute.known)).to(x.device)
    codes = torch.from_numpy(attribute.codes).to(x.device)
    weight = class_weights(attribute).to(x.device) if config.balance else None
    schedule = Schedule.of(len(rows), config.batch, config.epochs, steps=600)
    with context.progress.stage(f"attribute model {name}", schedule.epochs) as bar:
        for epoch in stage.epochs(schedule.epochs, bar):
            network.train()
            generator = seeded(context.seed, "attribute", name, epoch.number)
            for step, draw in schedule.batches(epoch.number, generator):
                set_rate(optimiser, schedule.cosine_rate(config.learning_rate, step))
                batch = rows[draw.to(x.device)]
                _, p = network(x[batch])
                loss = masked_cross_entropy(
                    p, codes[batch], multilabel=attribute.multilabel, weight=weight
                )
                take_step(optimiser, loss)
                epoch.add({"loss": loss})
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
    h = hashlib.sha256(repr(attribute.classes).encode())
    h.update(np.ascontiguousarray(attribute.codes).data)
    return h.hexdigest()
