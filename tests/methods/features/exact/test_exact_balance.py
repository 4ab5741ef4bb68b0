"""The correction that makes a plan exact, against sums written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from support import Recorder
from withhold.methods.features.exact import exact_balance as module
from withhold.methods.features.exact.exact_balance import ExactBalance, exact_balance


def problem(seed: int, n: int = 90, codes: int = 7, cells: int = 3) -> tuple[Tensor, ...]:
    """Scores (n, N), cells (n,), and log shares (C, N) that all cells share."""
    generator = torch.Generator().manual_seed(seed)
    scores = 4 * torch.randn(n, codes, generator=generator)
    cell = torch.randint(cells, (n,), generator=generator)
    shares = torch.rand(codes, generator=generator) + 0.1
    return scores, cell, (shares / shares.sum()).log().expand(cells, codes)


def balanced(scores: Tensor, cell: Tensor, log_shares: Tensor, start: Tensor) -> ExactBalance:
    def blocks() -> Iterator[tuple[Tensor, Tensor]]:
        yield from zip(scores.split(17), cell.split(17), strict=True)

    return exact_balance(blocks, log_shares, start, progress=Recorder(), name="balancing")


def by_hand(found: ExactBalance, scores: Tensor, cell: Tensor) -> np.ndarray:
    """W(j | i), one record and one code at a time: draw from V, keep the draw or draw again."""
    n, codes = scores.shape
    w = np.zeros((n, codes))
    for i in range(n):
        c = int(cell[i])
        v = torch.softmax(scores[i] + found.potentials[c], dim=0).double().numpy()
        keep, rest = found.keep[c].numpy(), found.rest[c].numpy()
        for first in range(codes):
            w[i, first] += v[first] * keep[first]
            for second in range(codes):
                w[i, second] += v[first] * (1 - keep[first]) * rest[second]
    return w


@pytest.mark.parametrize("passes", [1, 2, 40])
@pytest.mark.parametrize("seed", [0, 1])
def test_cells_meet_their_shares_however_far_the_potentials_are(
    seed: int, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", passes)
    scores, cell, log_shares = problem(seed)
    found = balanced(scores, cell, log_shares, torch.zeros_like(log_shares))
    w = by_hand(found, scores, cell)
    for c in range(3):
        own = w[(cell == c).numpy()].mean(axis=0)
        np.testing.assert_allclose(own, log_shares[c].exp().numpy(), atol=1e-7)
    assert 0 <= float(found.keep.min()) <= float(found.keep.max()) <= 1
    np.testing.assert_allclose(found.rest.sum(dim=1).numpy(), 1, atol=1e-9)


def test_what_is_redrawn_is_the_total_variation() -> None:
    scores, cell, log_shares = problem(2)
    found = balanced(scores, cell, log_shares, torch.zeros_like(log_shares))
    v = torch.softmax(scores + found.potentials[cell], dim=1).double()
    far = 0.0
    for c in range(3):
        here = v[cell == c].mean(dim=0) - log_shares[c].exp().double()
        far += float(here.abs().sum() / 2) * float((cell == c).double().mean())
    assert found.redrawn == pytest.approx(far, abs=1e-7)
    assert found.redrawn < 0.005


def test_more_passes_redraw_less(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, cell, log_shares = problem(3)
    redrawn = []
    for passes in (1, 3, 40):
        monkeypatch.setattr(module, "_MOST", passes)
        redrawn.append(balanced(scores, cell, log_shares, torch.zeros_like(log_shares)).redrawn)
    assert redrawn[0] > 2 * redrawn[1] > 4 * redrawn[2]


def test_a_code_without_a_share_is_never_used() -> None:
    """The codes of another preserved value: log share minus infinity."""
    scores, cell, log_shares = problem(4)
    open_ = log_shares[:, :-1]
    closed = torch.cat([open_ - open_.logsumexp(1, True), torch.full((3, 1), -torch.inf)], dim=1)
    found = balanced(scores, cell, closed, torch.zeros_like(closed))
    w = by_hand(found, scores, cell)
    assert w[:, -1].max() == 0
    for c in range(3):
        own = w[(cell == c).numpy()].mean(axis=0)
        np.testing.assert_allclose(own, closed[c].exp().numpy(), atol=1e-7)


def test_balanced_potentials_are_left_alone() -> None:
    scores, cell, log_shares = problem(5)
    first = balanced(scores, cell, log_shares, torch.zeros_like(log_shares))
    again = balanced(scores, cell, log_shares, first.potentials)
    torch.testing.assert_close(again.potentials, first.potentials)
