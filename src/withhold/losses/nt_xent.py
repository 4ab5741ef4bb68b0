"""NT-Xent between two views of a batch (SimCLR; MaSS Eq. 5 to 7)."""

from __future__ import annotations

import torch
from torch import Tensor

from withhold.nets.mlp import unit


def nt_xent(p: Tensor, p_new: Tensor, *, temperature: float = 0.07) -> Tensor:
    """L = 1/2 mean(l_x + l_x'), p and p_new: (n, h), row i of each a positive pair.

    l_x = -log( e^{c(x,x')/t} / sum_y [ e^{c(x,y')/t} + 1[y != x] e^{c(x,y)/t} ] ), l_x' alike,
    with c the cosine. All other originals and modified of the batch are negatives.
    """
    p, p_new = unit(p), unit(p_new)
    across = p @ p_new.T / temperature  # (n, n), its diagonal the positives
    positive = across.diagonal()
    # Cosines over 0.07 are at most 14.3: their exponentials fit in float32 without the usual
    # shift by the maximum; shifting by 1 / t makes it safe for every temperature above 0.01.
    shift = 1 / temperature
    e_across = torch.exp(across - shift)
    old = _off_diagonal_sum(p, temperature, shift)
    new = _off_diagonal_sum(p_new, temperature, shift)
    l_x = torch.log(e_across.sum(1) + old) + shift - positive
    l_new = torch.log(e_across.sum(0) + new) + shift - positive
    return 0.5 * (l_x + l_new).mean()


def _off_diagonal_sum(p: Tensor, temperature: float, shift: float) -> Tensor:
    """sum over y != x of e^{c(x,y)/t - shift}, (n,); p has unit rows."""
    e = torch.exp(p @ p.T / temperature - shift)
    return e.sum(1) - e.diagonal()
