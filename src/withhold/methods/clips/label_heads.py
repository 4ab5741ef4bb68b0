"""Labels of several attributes as one tensor, and the losses of networks that predict them all.

A categorical attribute has one column of codes, a multi-label attribute one for every binary
label; -1 is missing. A network has `width` scores: one for each class, then one for each binary
label, in the order of the attributes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from withhold.learn.losses.similarity import masked_cross_entropy
from withhold.records.attribute import Attribute


@dataclass(frozen=True)
class Head:
    """One attribute: a softmax over its classes, or a sigmoid for each binary label."""

    name: str
    classes: int
    multilabel: bool

    @property
    def columns(self) -> int:
        """Columns of codes."""
        return self.classes if self.multilabel else 1


@dataclass(frozen=True)
class LabelHeads:
    """The attributes that a network predicts."""

    heads: tuple[Head, ...]

    @classmethod
    def of(cls, attributes: Sequence[Attribute]) -> LabelHeads:
        """A head for each attribute."""
        return cls(tuple(Head(a.name, len(a.classes), a.multilabel) for a in attributes))

    @property
    def width(self) -> int:
        """Scores of a network."""
        return sum(head.classes for head in self.heads)

    @property
    def columns(self) -> int:
        """Columns of codes."""
        return sum(head.columns for head in self.heads)

    def divided(self, scores: Tensor, codes: Tensor) -> list[tuple[Head, Tensor, Tensor]]:
        """Each head with its scores (b, classes) and its codes: (b,), or (b, classes)."""
        parts = []
        for head, s, c in zip(
            self.heads,
            scores.split([h.classes for h in self.heads], dim=1),
            codes.split([h.columns for h in self.heads], dim=1),
            strict=True,
        ):
            parts.append((head, s, c if head.multilabel else c[:, 0]))
        return parts

    def present(self, codes: Tensor) -> Tensor:
        """Which attributes a record has, (n, columns): a class that is known, or a label of 1."""
        least = [int(h.multilabel) for h in self.heads for _ in range(h.columns)]
        return codes >= torch.tensor(least)


def label_codes(attributes: Sequence[Attribute]) -> Tensor:
    """The codes of the attributes side by side, (n, columns) int64."""
    columns = [a.codes if a.multilabel else a.codes[:, None] for a in attributes]
    return torch.from_numpy(np.concatenate(columns, axis=1).astype(np.int64))


def reading_loss(heads: LabelHeads, scores: Tensor, codes: Tensor) -> Tensor:
    """The cross-entropy of what is known, averaged over the attributes of which something is."""
    losses, known = [], []
    for head, s, c in heads.divided(scores, codes):
        losses.append(masked_cross_entropy(s, c, multilabel=head.multilabel))
        known.append((c >= 0).any())
    return torch.stack(losses).sum() / torch.stack(known).sum().clamp(min=1)


def hiding_loss(
    heads: LabelHeads, scores: Tensor, shown: Tensor, kind: Literal["uniform", "entropy"]
) -> Tensor:
    """How far predictions are from the greatest entropy, averaged like `reading_loss`; 0 at best.

    uniform: KL(u || p) = -mean_k log p_k - log k, u uniform; entropy: log k - H(p). A binary label
    is two classes with u = 0.5. `shown` (b, columns): what counts.
    """
    losses, known = [], []
    for head, s, mask in heads.divided(scores, shown):
        if head.multilabel:
            log_p = torch.stack([F.logsigmoid(s), F.logsigmoid(-s)], dim=-1)
        else:
            log_p = F.log_softmax(s, dim=-1)
        if kind == "uniform":
            far = -log_p.mean(-1) - math.log(log_p.shape[-1])
        else:
            far = math.log(log_p.shape[-1]) + (log_p.exp() * log_p).sum(-1)
        losses.append((far * mask).sum() / mask.sum().clamp(min=1))
        known.append(mask.any())
    return torch.stack(losses).sum() / torch.stack(known).sum().clamp(min=1)


def accuracy(heads: LabelHeads, scores: Tensor, codes: Tensor) -> Tensor:
    """The share of known labels that are predicted, averaged over the attributes with any."""
    found, known = [], []
    for head, s, c in heads.divided(scores, codes):
        guess = (s > 0).long() if head.multilabel else s.argmax(1)
        has = c >= 0
        found.append(((guess == c) & has).sum() / has.sum().clamp(min=1))
        known.append(has.any())
    return torch.stack(found).sum() / torch.stack(known).sum().clamp(min=1)


def majority(heads: LabelHeads, codes: Tensor) -> float:
    """The accuracy of guessing the commonest value of each attribute, averaged over them."""
    empty = torch.zeros(len(codes), heads.width)
    rates = []
    for head, _, c in heads.divided(empty, codes):
        columns = c.T if head.multilabel else c[None]
        counts = [column[column >= 0].bincount() for column in columns]
        known = sum(int(n.sum()) for n in counts)
        rates.append(sum(int(n.max()) for n in counts if len(n)) / max(known, 1))
    return sum(rates) / len(rates)
