"""NT-Xent between two views of a batch (SimCLR; MaSS Eq. 5 to 7)."""

from __future__ import annotations

import torch
from torch import Tensor

from withhold.learn.nets.perceptron import unit


def nt_xent(p: Tensor, p_new: Tensor, *, temperature: float = 0.07) -> Tensor:
    """L = 1/2 mean(l_x + l_x'), p and p_new: (n, h), row i of each a positive pair.

    l_x = -log( e^{c(x,x')/t} / sum_y [ e^{c(x,y')/t} + 1[y != x] e^{c(x,y)/t} ] ), l_x' alike,
    with c the cosine. All other originals and modified of the batch are negatives.
    """
    p, p_new = unit(p), unit(p_new)
    across = p @ p_new.T / temperature  # (n, n), its diagonal the positives
    l_x = torch.logaddexp(across.logsumexp(1), _log_negatives(p, temperature))
    l_new = torch.logaddexp(across.logsumexp(0), _log_negatives(p_new, temperature))
    return (0.5 * (l_x + l_new) - across.diagonal()).mean()


def _log_negatives(p: Tensor, temperature: float) -> Tensor:
    """log sum over y != x of e^{c(x,y)/t}, (n,); p has unit rows.

    The pair of a record with itself is taken out before the sum: it is e^{1/t}, millions of times
    the others, and subtracting it afterwards would leave little of them in float32.
    """
    return (p @ p.T / temperature).fill_diagonal_(-torch.inf).logsumexp(1)
