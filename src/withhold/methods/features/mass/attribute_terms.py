"""The terms of Eq. 9 that belong to an attribute, suppressed or preserved."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from withhold.core.progress import Progress
from withhold.learn.journal import FitContext
from withhold.learn.losses.entropy import prediction_entropy
from withhold.learn.losses.similarity import (
    Similarity,
    ce_similarity,
    cosine_similarity,
    kl_similarity,
)
from withhold.learn.nets.attribute_net import FrozenAttributeNet
from withhold.learn.training import in_blocks, tensor_digest
from withhold.methods.features.mass.config import MassConfig, weight_of
from withhold.methods.features.stages.attribute_model import train_attribute_model
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@dataclass(frozen=True)
class AttributeTerm:
    """The loss of one attribute: its frozen model, the outputs for the originals, weights.

    z: (n, h) and p: (n, k) of the original records never change, so they are computed once.
    """

    name: str
    model: FrozenAttributeNet
    z: Tensor
    p: Tensor
    codes: Tensor
    multilabel: bool
    kind: Similarity
    suppress: float = 0.0
    entropy: float = 0.0
    preserve: float = 0.0

    def fingerprint(self) -> list[object]:
        """Everything that the loss depends on; z, p and codes represent labels and model."""
        digests = [tensor_digest(t) for t in (self.z, self.p, self.codes)]
        return [self.name, self.kind, self.suppress, self.entropy, self.preserve, *digests]

    def loss(self, x_new: Tensor, rows: Tensor) -> Tensor:
        """L^s = w sim(x', x) - h H(p_{x'}) (Eq. 3), or L^r = -w sim(x', x) (Eq. 8)."""
        z_new, p_new = self.model(x_new)
        total: Tensor = p_new.new_zeros(())
        weight = self.suppress - self.preserve
        if weight and self.kind == "cosine":
            total = weight * cosine_similarity(z_new, self.z[rows])
        elif weight and self.kind == "kl":
            total = weight * kl_similarity(p_new, self.p[rows], multilabel=self.multilabel)
        elif weight:
            total = weight * ce_similarity(p_new, self.codes[rows], multilabel=self.multilabel)
        if self.entropy:
            total = total - self.entropy * prediction_entropy(p_new, multilabel=self.multilabel)
        return total


def attribute_terms(
    train: Dataset, roles: Roles, config: MassConfig, x: Tensor, context: FitContext
) -> list[AttributeTerm]:
    """A term for each attribute in a role; its model is trained or found in the journal."""
    suppress = weight_of(config.suppression, roles.suppress, setting="suppression")
    entropy = weight_of(config.entropy, roles.suppress, setting="entropy")
    preserve = weight_of(config.preservation, roles.preserve, setting="preservation")
    terms = []
    for name in roles.named:
        weights = (suppress.get(name, 0.0), entropy.get(name, 0.0), preserve.get(name, 0.0))
        if not any(weights):
            continue
        attribute = train.attribute(name)
        say_what_is_odd(attribute, context.progress, balanced=config.attribute_model.balance)
        model = train_attribute_model(x, attribute, config.attribute_model, context).frozen()
        with torch.no_grad():
            z = in_blocks(model.features, x)
            p = model.head(z)
        terms.append(
            AttributeTerm(
                name,
                model,
                z,
                p,
                torch.from_numpy(attribute.codes).to(x.device),
                attribute.multilabel,
                config.similarity if name in suppress else config.preserve_similarity,
                *weights,
            )
        )
    return terms


def say_what_is_odd(attribute: Attribute, progress: Progress, *, balanced: bool) -> None:
    """Warn about classes without training records, missing labels and imbalance."""
    counts, name = attribute.counts, attribute.name
    unseen = [c for c, n in zip(attribute.classes, counts, strict=True) if n == 0]
    if unseen:
        shown = ", ".join(unseen[:3]) + (", …" if len(unseen) > 3 else "")
        progress.say(
            f"attribute '{name}': {len(unseen)} of {len(counts)} classes have no training record"
            f" ({shown}); their records are modified like the others, but nothing was learned"
            " about them"
        )
    if attribute.missing:
        progress.say(
            f"attribute '{name}': {attribute.missing:,} of {len(attribute.codes):,} training"
            " records have no label; they are masked"
        )
    if not balanced and not attribute.multilabel and attribute.majority > 0.7:
        common = attribute.classes[int(counts.argmax())]
        progress.say(
            f"attribute '{name}': {100 * attribute.majority:.0f} % of the training records are"
            f" '{common}'; attribute_model.balance: true gives all classes the same weight"
        )
