"""The balanced plan: every class uses the codes in the same shares, at the least cost.

For records i of a cell c, scores a_ij = -cost_ij / eps and shares b_c (C, N) that the cell is to
have, entropic transport gives

W(j | i) = softmax_j(a_ij + g_cj),   g such that   mean over i in c of W(j | i) = b_cj.

The potentials g (C, N) are all that is learned: they carry over to new records of a class. A step
sets g <- t (g + log b - log mass), t = 1 for exact shares and rho/(1 + rho) for relaxed ones.
"""

from __future__ import annotations

import torch
from torch import Tensor

_TINY = 1e-30
_BLOCK = 4_000_000  # numbers worked on at once


def balance(
    scores: Tensor,
    cell: Tensor,
    log_shares: Tensor,
    *,
    steps: int,
    potentials: Tensor | None = None,
    relax: float | None = None,
) -> Tensor:
    """Potentials (C, N) for scores (n, N), cells (n,) and log shares (C, N)."""
    g = torch.zeros_like(log_shares) if potentials is None else potentials
    keep = 1.0 if relax is None else relax / (1 + relax)
    g = g.masked_fill(log_shares == -torch.inf, -torch.inf)
    count = torch.bincount(cell, minlength=len(g)).clamp_min(1)[:, None]
    rows = max(_BLOCK // scores.shape[1], 1)
    for _ in range(steps):
        mass = torch.zeros_like(g)
        for part, where in zip(scores.split(rows), cell.split(rows), strict=True):
            mass.index_add_(0, where, torch.softmax(part + g[where], dim=1))
        g = keep * (g + log_shares - (mass / count).clamp_min(_TINY).log())
    return g


def plan(scores: Tensor, cell: Tensor, potentials: Tensor) -> Tensor:
    """W(j | i), (n, N)."""
    return torch.softmax(scores + potentials[cell], dim=1)


def shares(w: Tensor, value: Tensor, values: int) -> Tensor:
    """How often each code is used among the records of each preserved value: (U, N), rows sum
    to 1."""
    total = torch.zeros(values, w.shape[1], dtype=w.dtype, device=w.device)
    total.index_add_(0, value, w)
    return total / total.sum(dim=1, keepdim=True).clamp_min(_TINY)
