"""The balanced plan: every class uses the codes in the same shares, at the least cost.

For records i of a cell c, scores a_ij = -cost_ij / eps and target shares b_c (C, N) of the cell,
entropic transport gives

W(j | i) = softmax_j(a_ij + g_cj),   g such that   mean over i in c of W(j | i) = b_cj.

Only the potentials g (C, N) are learned, and they apply to new records of a class as well. A step
sets g <- t (g + log b - log mass), t = 1 for exact shares and rho/(1 + rho) for relaxed ones.
"""

from __future__ import annotations

import torch
from torch import Tensor

_TINY = 1e-30
_BLOCK = 4_000_000  # numbers worked on at once
_ANNEAL = 20  # steps at each sharpness
_TRIES = 25  # times as many further steps at most, until the shares are met
_CLOSE = 2e-3  # total variation at which the shares count as met


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
    count = torch.bincount(cell, minlength=len(g))[:, None]
    present, count = count > 0, count.clamp_min(1)
    for _ in range(steps):
        mass = _mass(scores, cell, g)
        step = keep * (g + log_shares - (mass / count).clamp_min(_TINY).log())
        g = torch.where(present, step, g)  # a cell without records keeps its potentials
    return g


def _mass(scores: Tensor, cell: Tensor, g: Tensor) -> Tensor:
    """Summed probabilities of each cell's records, (C, N)."""
    mass = torch.zeros_like(g)
    rows = max(_BLOCK // scores.shape[1], 1)
    for part, where in zip(scores.split(rows), cell.split(rows), strict=True):
        mass.index_add_(0, where, torch.softmax(part + g[where], dim=1))
    return mass


def settle(
    scores: Tensor,
    cell: Tensor,
    log_shares: Tensor,
    *,
    relax: float | None = None,
    potentials: Tensor | None = None,
) -> Tensor:
    """Potentials (C, N) whose shares are met to `_CLOSE`, from blurred scores to sharp ones.

    Sharp scores alone move mass between distant codes so slowly that the shares are never met.
    Potentials of nearly the same scores are a better start, if there are any.
    """
    g, before = torch.zeros_like(log_shares) if potentials is None else potentials, 1.0
    blurred = () if potentials is not None else (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
    for sharpness in blurred:
        # Potentials are in units of the scores.
        g = balance(
            sharpness * scores, cell, log_shares,
            steps=_ANNEAL, potentials=g * (sharpness / before), relax=relax,
        )  # fmt: skip
        before = sharpness
    if relax is not None:
        return balance(scores, cell, log_shares, steps=_ANNEAL, potentials=g, relax=relax)
    for _ in range(_TRIES):
        if unmet(scores, cell, log_shares, g) < _CLOSE:
            break
        g = balance(scores, cell, log_shares, steps=_ANNEAL, potentials=g)
    return g


def unmet(scores: Tensor, cell: Tensor, log_shares: Tensor, g: Tensor) -> float:
    """The largest total variation between the shares of a cell and its target shares."""
    count = torch.bincount(cell, minlength=len(g)).clamp_min(1)[:, None]
    far = (_mass(scores, cell, g) / count - log_shares.exp()).abs().sum(dim=1) / 2
    present = torch.bincount(cell, minlength=len(g)) > 0
    return float(far[present].max())


def plan(scores: Tensor, cell: Tensor, potentials: Tensor) -> Tensor:
    """W(j | i), (n, N)."""
    return torch.softmax(scores + potentials[cell], dim=1)


def shares(w: Tensor, value: Tensor, values: int) -> Tensor:
    """How often each code is used among the records of each preserved value: (U, N), rows sum
    to 1."""
    total = torch.zeros(values, w.shape[1], dtype=w.dtype, device=w.device)
    total.index_add_(0, value, w)
    return total / total.sum(dim=1, keepdim=True).clamp_min(_TINY)
