"""A plan whose cells use the codes in the same shares, to the last bit that is computed.

For records i of a cell c, scores a_ij and shares b_cj, entropic transport gives potentials g with

    V(j | i) = softmax_j(a_ij + g_cj),      P_cj = mean over i in c of V(j | i) close to b_cj,

by steps of Sinkhorn, g <- g + log b - log P, over all records. What is left of the difference is
removed exactly: a draw of a code that the cell uses too often is kept with probability

    keep_cj = min(1, b_cj / P_cj),     and otherwise drawn again from     rest_c ~ (b_c - P_c)+.

The plan W(j | i) = keep_cj V(j | i) + rest_cj (1 - sum_l keep_cl V(l | i)) then meets
mean over i in c of W(j | i) = b_cj. The share of draws that ignore their record is the total
variation between P_c and b_c, so that is made small first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from withhold.core.progress import Progress

Blocks = Callable[[], Iterable[tuple[Tensor, Tensor]]]  # scores (m, N) and cells (m,), in pieces
# From potentials (C, N): the shares P (C, N) of the codes in each cell, and its records (C,).
Shares = Callable[[Tensor], tuple[Tensor, Tensor]]
_CLOSE = 2e-3  # share of the draws of a cell that may ignore their record
_MOST = 40  # passes over all records
_STEP = 8.0  # largest change of a potential in one step
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class ExactBalance:
    """potentials, keep and rest, (C, N) each; see the module."""

    potentials: Tensor
    keep: Tensor
    rest: Tensor
    redrawn: float  # the share of all draws that ignore their record


def exact_plan(scores: Tensor, potentials: Tensor, keep: Tensor, rest: Tensor) -> Tensor:
    """W (n, N) of records with scores (n, N); the others (n, N) are those of their cells."""
    kept = torch.softmax(scores + potentials, dim=1) * keep
    again = (1 - kept.sum(dim=1, keepdim=True)).clamp_min(0)
    return kept + again * rest


def exact_balance(
    blocks: Blocks, log_shares: Tensor, start: Tensor, *, name: str, progress: Progress
) -> ExactBalance:
    """The balance of all records, from log shares (C, N) and potentials to start from (C, N).

    blocks: scores and cells of all records, in pieces that may be computed again in every pass;
    name: of the stage, for progress.
    """
    inside = partial(_shares_inside, blocks)
    return balance_by(inside, log_shares, start, name=name, progress=progress)


def balance_by(
    inside_of: Shares,
    log_shares: Tensor,
    start: Tensor,
    *,
    name: str,
    progress: Progress,
    most: int | None = None,
    close: float = _CLOSE,
) -> ExactBalance:
    """The same, where each pass over the records is a call of `inside_of`.

    most: passes, if not the usual number; close: the share of redrawn draws of a cell at which
    they end. Whatever is left then is removed exactly.
    """
    shares = log_shares.double().exp()
    g, best = start.double(), None
    most = most or _MOST
    with progress.stage(name, most) as bar:
        for left in reversed(range(most)):
            inside, count = inside_of(g)
            made, worst = _corrected(g, inside, shares, count)
            if best is None or made.redrawn < best.redrawn:
                best = made
            bar.advance()
            if worst <= close:
                bar.advance(left)
                break
            ratio = (shares.clamp_min(_TINY) / inside.clamp_min(_TINY)).log()
            g = g + torch.where(shares > 0, ratio.clamp(-_STEP, _STEP), 0.0)
    assert best is not None
    return best


def _shares_inside(blocks: Blocks, g: Tensor) -> tuple[Tensor, Tensor]:
    """P (C, N) in double precision, and the records of each cell (C,)."""
    mass = torch.zeros(g.shape, dtype=torch.float64)
    count = torch.zeros(len(g), dtype=torch.float64)
    single = g.float()
    for scores, cell in blocks():
        mass.index_add_(0, cell, torch.softmax(scores + single[cell], dim=1).double())
        count += torch.bincount(cell, minlength=len(g))
    return mass / count.clamp_min(1)[:, None], count


def _corrected(
    g: Tensor, inside: Tensor, shares: Tensor, count: Tensor
) -> tuple[ExactBalance, float]:
    """The exact plan, and the largest share of redrawn draws of a cell."""
    keep = torch.where(inside > shares, shares / inside.clamp_min(_TINY), 1.0)
    lacks = (shares - inside).clamp_min(0)
    redrawn = lacks.sum(dim=1)
    rest = torch.where(redrawn[:, None] > 0, lacks / redrawn.clamp_min(_TINY)[:, None], shares)
    there = count > 0
    total = float((redrawn * count).sum() / count.sum().clamp_min(1))
    worst = float(redrawn[there].max()) if bool(there.any()) else 0.0
    return ExactBalance(g.float(), keep, rest, total), worst
