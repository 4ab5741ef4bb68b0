"""The losses of a channel P(j|x) over candidates (PASS). Entropies are in nats.

Class membership comes as a 0/1 matrix (n, K), K the classes of an attribute, or two columns for
each label of a multi-label one; the row of a missing label is zero.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def membership(codes: Tensor, classes: int, *, multilabel: bool = False) -> Tensor:
    """Codes (n,) or (n, k), -1 is missing, as 0/1 columns: (n, classes) or (n, 2k)."""
    if multilabel:
        return torch.stack([codes == 0, codes == 1], dim=-1).flatten(1).float()
    return (F.one_hot(codes.clamp(min=0), classes) * (codes >= 0)[:, None]).float()


def class_entropy(p: Tensor, member: Tensor) -> Tensor:
    """H(X'|S) = sum_s P(s) H(mean of P(.|x) over the batch's records of class s).

    p: (b, N), member: (b, K). For a multi-label attribute the mean over its labels.
    """
    counts = member.sum(0)
    marginal: Tensor = member.T @ p / counts.clamp(min=1)[:, None]  # (K, N)
    share = counts / counts.sum().clamp(min=1)
    # The gradient is infinite at 0, and at a low temperature many are 0 in float32.
    entropies: Tensor = torch.special.entr(marginal.clamp(min=1e-12)).sum(1)
    return (share * entropies).sum()


def record_entropy(log_p: Tensor) -> Tensor:
    """H(X'|X): the mean entropy of P(.|x); log_p: (b, N)."""
    return -(log_p.exp() * log_p).sum(1).mean()


def label_loss(p: Tensor, member: Tensor, candidates: Tensor) -> Tensor:
    """-mean log sum_j P(j|x) 1[u_j = u_x], over the labels there are.

    p: (b, N), member: (b, K) of the records, candidates: (N, K). Classes that no candidate has are
    left out: nothing of them can be kept.
    """
    member = member * (candidates.sum(0) > 0)
    right = p @ candidates  # (b, K): how likely the substitute is of each class
    return -(member * (right + 1e-9).log()).sum() / member.sum().clamp(min=1)
