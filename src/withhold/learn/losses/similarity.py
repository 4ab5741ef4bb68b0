"""The three similarities of MaSS between a modified and an original record (Sec. 3.2.2)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Similarity = Literal["cosine", "kl", "ce"]


def cosine_similarity(z_new: Tensor, z_old: Tensor) -> Tensor:
    """sim_cos(x', x) = cos(z_{x'}, z_x), mean over records; z: (n, h)."""
    return F.cosine_similarity(z_new, z_old, dim=-1).mean()


def kl_similarity(p_new: Tensor, p_old: Tensor, *, multilabel: bool = False) -> Tensor:
    """sim_KL(x', x) = -KL(p_{x'} || p_x), mean over records; logits: (n, k).

    For a multi-label attribute, the mean over labels of the binary divergences.
    """
    if multilabel:
        new, old = _binary_log_probabilities(p_new), _binary_log_probabilities(p_old)
    else:
        new, old = F.log_softmax(p_new, dim=-1), F.log_softmax(p_old, dim=-1)
    return -(new.exp() * (new - old)).sum(-1).mean()


def ce_similarity(p_new: Tensor, codes: Tensor, *, multilabel: bool = False) -> Tensor:
    """sim_CE(x', x) = -KL(onehot(s_x) || p_{x'}), minus the cross-entropy, over labelled records.

    The paper writes the arguments the other way round, which is infinite; the sign is such that
    minimising it drives the prediction away from the truth. codes: (n,) or (n, k), -1 is missing.
    """
    return -masked_cross_entropy(p_new, codes, multilabel=multilabel)


def masked_cross_entropy(
    p: Tensor, codes: Tensor, *, multilabel: bool = False, weight: Tensor | None = None
) -> Tensor:
    """Cross-entropy of logits p: (n, k) against codes, over what is not missing (-1); 0 if all is.

    `weight` (k,) weighs classes; for a multi-label attribute it weighs the positive of each label.
    """
    known = codes >= 0
    if multilabel:
        loss = F.binary_cross_entropy_with_logits(
            p, codes.clamp(min=0).to(p.dtype), reduction="none", pos_weight=weight
        )
        return (loss * known).sum() / known.sum().clamp(min=1)
    if weight is None:
        total = F.cross_entropy(p, codes, ignore_index=-1, reduction="sum")
        return total / known.sum().clamp(min=1)
    total = F.cross_entropy(p, codes, ignore_index=-1, reduction="sum", weight=weight)
    return total / weight[codes.clamp(min=0)].mul(known).sum().clamp(min=1e-12)


def _binary_log_probabilities(p: Tensor) -> Tensor:
    """log P(label = 1), log P(label = 0) with the labels moved into the batch: (n k, 2)."""
    return torch.stack([F.logsigmoid(p), F.logsigmoid(-p)], dim=-1).reshape(-1, 2)
