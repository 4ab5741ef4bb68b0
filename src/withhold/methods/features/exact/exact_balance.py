"""A plan whose cells use the codes in the same shares, to the last bit that is computed.

For records i of a cell c, scores a_ij and shares b_cj, entropic transport gives potentials g with

    V(j | i) = softmax_j(a_ij + g_cj),      P_cj = mean over i in c of V(j | i) close to b_cj.

Newton's method on the dual finds g where the cells are few or the codes are; steps of Sinkhorn find
it elsewhere. What is left of the difference is removed by a mixture: with

    e_c = max_j (1 - b_cj / P_cj)+,     R_c = (b_c - (1 - e_c) P_c) / e_c  >= 0,

the plan W = (1 - e_c) V + e_c R_c meets sum over i in c of W(j | i) = n_c b_cj exactly. A share e_c
of the draws then ignores its record, so e_c is made small first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from withhold.core.progress import Progress
from withhold.methods.features.codebook.transport import settle

Blocks = Callable[[], Iterable[tuple[Tensor, Tensor]]]  # scores (m, N) and cells (m,), in pieces
_CLOSE = 1e-3  # share of draws that may ignore their record
_NEWTON = 12
_SINKHORN = 24
_HESSIAN = 60_000_000  # numbers in the Hessians of all cells
_FLOPS = 6e11  # of one Newton step
_STEP = 3.0  # largest change of a potential in one step
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class ExactBalance:
    """potentials (C, N), mix (C,) and rest (C, N): W = (1 - mix_c) V + mix_c rest_c."""

    potentials: Tensor
    mix: Tensor
    rest: Tensor


def exact_balance(
    sample: tuple[Tensor, Tensor],
    blocks: Blocks,
    log_shares: Tensor,
    counts: Tensor,
    *,
    start: Tensor | None,
    progress: Progress,
) -> ExactBalance:
    """The balance of all records, from log shares (C, N) and counts of records (C,).

    sample: scores and cells of some records, which decide the first potentials; blocks: those of
    all records, in pieces that are computed again in every pass; start: potentials (C, N) to start
    from, if some are known.
    """
    g = settle(*sample, log_shares) if start is None else start
    g = _newton(*sample, log_shares, g)
    shares = log_shares.double().exp()
    g = g.double()
    best, passes = None, 0
    with progress.stage("balancing the classes", None) as bar:
        while True:
            mass = cell_mass(blocks, g.float())
            inside = mass / counts.clamp_min(1)[:, None]
            made = _mixed(g, inside, shares)
            if best is None or float(made.mix.max()) < float(best.mix.max()):
                best = made
            bar.advance()
            passes += 1
            if float(best.mix.max()) <= _CLOSE or passes >= _SINKHORN:
                return best
            step = torch.where(shares > 0, shares.log() - inside.clamp_min(_TINY).log(), 0.0)
            g = torch.where(shares > 0, g + step.clamp(-_STEP, _STEP), g)


def cell_mass(blocks: Blocks, g: Tensor) -> Tensor:
    """Summed probabilities V of each cell's records, (C, N), in double precision."""
    mass = torch.zeros(g.shape, dtype=torch.float64)
    for scores, cell in blocks():
        mass.index_add_(0, cell, torch.softmax(scores + g[cell], dim=1).double())
    return mass


def _mixed(g: Tensor, inside: Tensor, shares: Tensor) -> ExactBalance:
    """The mixture that makes the shares exact; a cell without records needs none."""
    over = torch.where(inside > 0, 1 - shares / inside.clamp_min(_TINY), 0.0)
    mix = over.max(dim=1).values.clamp(0, 1)
    rest = shares - (1 - mix)[:, None] * inside
    rest = rest.clamp_min(0) / rest.clamp_min(0).sum(dim=1, keepdim=True).clamp_min(_TINY)
    rest = torch.where(mix[:, None] > 0, rest, shares)
    return ExactBalance(g.float(), mix, rest)


def _newton(scores: Tensor, cell: Tensor, log_shares: Tensor, g: Tensor) -> Tensor:
    """Newton's steps on the dual of every cell: (diag P - mean V V') step = b - P."""
    cells, codes = log_shares.shape
    if cells * codes**2 > _HESSIAN or 2.0 * len(scores) * codes**2 > _FLOPS:
        return g
    shares, g = log_shares.double().exp(), g.double()
    order = torch.argsort(cell, stable=True)
    sizes = torch.bincount(cell, minlength=cells).tolist()
    pieces = torch.split(order, sizes)
    for c, rows in enumerate(pieces):
        if len(rows):
            g[c] = _newton_of_cell(scores[rows], shares[c], g[c])
    return g.float()


def _newton_of_cell(scores: Tensor, shares: Tensor, g: Tensor) -> Tensor:
    """The potentials (N,) of one cell with scores (m, N)."""
    used = shares > 0
    a, b, g_used = scores[:, used], shares[used], g[used]
    unmet = torch.inf
    kept = g_used
    for _ in range(_NEWTON):
        v = torch.softmax(a + g_used.float(), dim=1)
        p = v.double().mean(dim=0)
        found = float((p - b).abs().sum())
        if found < unmet:
            unmet, kept = found, g_used
        if found < 1e-7:
            break
        hessian = torch.diag(p) - (v.T @ v).double() / len(v)
        # A constant added to all potentials changes nothing: one direction is free.
        ridge = 1e-7 * p.mean() * torch.eye(len(p), dtype=torch.float64)
        step = torch.linalg.solve(hessian + ridge + p.mean() / len(p), b - p)
        g_used = g_used + step.clamp(-_STEP, _STEP)
    found_g = g.clone()
    found_g[used] = kept
    return found_g
