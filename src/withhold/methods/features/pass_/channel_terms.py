"""The terms of `pass` on one batch, and the labels that they need."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from withhold.learn.losses.substitution import (
    class_entropy,
    label_loss,
    membership,
    record_entropy,
)
from withhold.learn.training import tensor_digest
from withhold.methods.features.mass.config import weight_of
from withhold.methods.features.pass_.config import PassConfig
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@dataclass(frozen=True)
class LabelTerm:
    """The term of one attribute: -w H(X'|S) if it is suppressed, otherwise w times the label loss.

    `codes` are the labels of all training records: (n,) or (n, k).
    """

    name: str
    codes: Tensor
    classes: int
    multilabel: bool
    weight: float
    suppress: bool

    def member(self, rows: Tensor) -> Tensor:
        """The classes of some records, (len(rows), K)."""
        return membership(self.codes[rows], self.classes, multilabel=self.multilabel)

    def loss(self, p: Tensor, rows: Tensor, chosen: Tensor) -> Tensor:
        """p: (b, N) of the records `rows`; `chosen` are the rows of the candidates."""
        if self.suppress:
            return -self.weight * class_entropy(p, self.member(rows))
        return self.weight * label_loss(p, self.member(rows), self.member(chosen))

    def fingerprint(self) -> list[object]:
        """Everything that the loss depends on."""
        return [self.name, self.weight, self.suppress, tensor_digest(self.codes)]


def label_terms(
    train: Dataset, roles: Roles, config: PassConfig, device: torch.device
) -> list[LabelTerm]:
    """A term for each attribute in a role that has a weight."""
    weight = weight_of(config.suppression, roles.suppress, setting="suppression")
    weight |= weight_of(config.preservation, roles.preserve, setting="preservation")
    terms = []
    for name in roles.named:
        if weight[name]:
            a = train.attribute(name)
            codes = torch.from_numpy(a.codes).to(device)
            suppress = name in roles.suppress
            terms.append(
                LabelTerm(name, codes, len(a.classes), a.multilabel, weight[name], suppress)
            )
    return terms


def channel_losses(
    log_p: Tensor,
    x: Tensor,
    rows: Tensor,
    chosen: Tensor,
    terms: list[LabelTerm],
    config: PassConfig,
) -> dict[str, Tensor]:
    """Every term on one batch, by name. log_p: (b, N) of x[rows]; the candidates are x[chosen]."""
    p = log_p.exp()
    losses = {term.name: term.loss(p, rows, chosen) for term in terms}
    if config.agnostic:
        losses["agnostic"] = config.agnostic * record_entropy(log_p)
    if config.nearness:
        cosine = x[rows] @ x[chosen].T  # unit vectors
        losses["nearness"] = -config.nearness * (p * cosine).sum(1).mean()
    # An ablation may switch all terms off; then the channel keeps its initial weights.
    return losses or {"nothing": 0.0 * log_p.sum()}
