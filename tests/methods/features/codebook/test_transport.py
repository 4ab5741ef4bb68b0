"""The balanced plan: shares are met, relaxed ones nearly, and names and order do not matter."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from withhold.methods.features.codebook import transport
from withhold.methods.features.codebook.transport import balance, plan, settle, shares, unmet


def problem(n: int = 120, codes: int = 6, cells: int = 4, seed: int = 0) -> tuple[Tensor, ...]:
    """Scores, a cell for each record (every cell occurs), and log shares (C, N)."""
    g = torch.Generator().manual_seed(seed)
    scores = torch.randn(n, codes, generator=g)
    cell = torch.arange(n)[torch.randperm(n, generator=g)] % cells
    wanted = torch.rand(cells, codes, generator=g) + 0.2
    return scores, cell, (wanted / wanted.sum(dim=1, keepdim=True)).log()


def mass(scores: Tensor, cell: Tensor, potentials: Tensor) -> Tensor:
    w = plan(scores, cell, potentials)
    total = torch.zeros_like(potentials).index_add_(0, cell, w)
    return total / torch.bincount(cell)[:, None]


@settings(max_examples=25)
@given(
    n=st.integers(4, 90), codes=st.integers(2, 9), cells=st.integers(1, 4), seed=st.integers(0, 99)
)
def test_every_cell_meets_its_shares(n: int, codes: int, cells: int, seed: int) -> None:
    scores, cell, wanted = problem(n, codes, cells, seed)
    found = mass(scores, cell, balance(scores, cell, wanted, steps=200))
    assert (found - wanted.exp()).abs().max() < 1e-3


def test_it_is_the_plan_of_the_least_cost() -> None:
    """Far apart and in equal numbers, each half of the records goes to its own code."""
    x = torch.tensor([0.0] * 10 + [1.0] * 10)
    scores = -(x[:, None] - torch.tensor([0.0, 1.0])).square() / 0.02
    cell = torch.zeros(20, dtype=torch.int64)
    half = torch.full((1, 2), 0.5).log()
    w = plan(scores, cell, balance(scores, cell, half, steps=50))
    torch.testing.assert_close(w[:, 0], 1 - x, atol=1e-4, rtol=0)


def test_a_cell_with_more_of_one_kind_sends_just_the_surplus_across() -> None:
    x = torch.tensor([0.0] * 15 + [1.0] * 5)
    scores = -(x[:, None] - torch.tensor([0.0, 1.0])).square() / 0.1
    cell, half = torch.zeros(20, dtype=torch.int64), torch.full((1, 2), 0.5).log()
    w = plan(scores, cell, balance(scores, cell, half, steps=400))
    assert w[15:, 0].max() < 1e-3
    torch.testing.assert_close(w[:15, 0], torch.full((15,), 2 / 3), atol=1e-3, rtol=0)


@pytest.mark.parametrize("blur", [0.1, 0.02])
def test_sharp_shares_are_met_where_cells_hold_content_unequally(blur: float) -> None:
    """Whole clusters have to move across, which sharp scores alone do not get done."""
    g = torch.Generator().manual_seed(0)
    cell = torch.arange(800) % 4
    # Cell c has cluster c in seven of ten records, and the others alike.
    own = torch.rand(800, generator=g) < 0.6
    cluster = torch.where(own, cell, torch.randint(4, (800,), generator=g))
    z = torch.eye(4)[cluster] + 0.1 * torch.randn(800, 4, generator=g)
    codes = torch.eye(4).repeat(3, 1) + 0.1 * torch.randn(12, 4, generator=g)
    scores = -torch.cdist(z, codes).square() / blur
    wanted = torch.full((4, 12), 1 / 12).log()
    found = settle(scores, cell, wanted)
    away = (mass(scores, cell, found) - wanted.exp()).abs().sum(dim=1).max() / 2
    assert float(away) < 2e-3
    assert unmet(scores, cell, wanted, found) == pytest.approx(float(away), abs=1e-6)
    if blur == 0.02:
        assert unmet(scores, cell, wanted, balance(scores, cell, wanted, steps=90)) > 0.01


def test_settled_and_relaxed_is_the_fixed_point_too() -> None:
    scores, cell, wanted = problem()
    g = settle(scores, cell, wanted, relax=0.7)
    torch.testing.assert_close(
        g, 0.7 * (wanted - mass(scores, cell, g).log()), atol=1e-4, rtol=1e-4
    )


def test_a_cell_that_is_not_there_is_left_as_it_was() -> None:
    scores, cell, wanted = problem()
    here = cell != 2
    g = balance(scores[here], cell[here], wanted, steps=20)
    torch.testing.assert_close(g[2], torch.zeros(6))
    whole, others = balance(scores, cell, wanted, steps=20), [0, 1, 3]
    torch.testing.assert_close(g[others], whole[others])


def test_relaxed_lies_between_free_and_exact() -> None:
    scores, cell, wanted = problem()
    free = mass(scores, cell, torch.zeros_like(wanted))
    wanted = wanted[:1].expand(4, -1)
    away = [
        float((mass(scores, cell, g) - wanted.exp()).abs().sum())
        for g in (
            balance(scores, cell, wanted, steps=200),
            *(balance(scores, cell, wanted, steps=200, relax=r) for r in (10.0, 1.0, 0.1, 1e-3)),
        )
    ]
    assert away == sorted(away)
    assert away[0] < 1e-4
    assert away[-1] == pytest.approx(float((free - wanted.exp()).abs().sum()), rel=0.02)


def test_relaxed_is_where_the_potential_pays_for_the_difference() -> None:
    """The fixed point of the step: g = rho (log b - log mass), up to a constant of the cell."""
    scores, cell, wanted = problem()
    g = balance(scores, cell, wanted, steps=400, relax=0.7)
    torch.testing.assert_close(
        g, 0.7 * (wanted - mass(scores, cell, g).log()), atol=1e-4, rtol=1e-4
    )


def test_a_code_that_a_cell_may_not_use_is_not_used() -> None:
    scores, cell, wanted = problem()
    wanted[0, :3] = -torch.inf
    wanted[0] -= wanted[0].logsumexp(dim=0)
    for relax in (None, 0.5):
        g = balance(scores, cell, wanted, steps=60, relax=relax)
        w = plan(scores, cell, g)
        assert w.isfinite().all()
        assert float(w[cell == 0][:, :3].max()) == 0
        assert float(w[cell == 1][:, :3].min()) > 0


def test_the_order_of_records_and_the_names_of_cells_do_not_matter() -> None:
    scores, cell, wanted = problem()
    g = balance(scores, cell, wanted, steps=50)
    order = torch.randperm(len(scores), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(balance(scores[order], cell[order], wanted, steps=50), g)
    named = torch.tensor([2, 0, 3, 1])  # cell c is now called named[c]
    turned = balance(scores, named[cell], wanted[named.argsort()], steps=50)
    torch.testing.assert_close(turned[named], g)
    columns = torch.randperm(6, generator=torch.Generator().manual_seed(2))
    moved = balance(scores[:, columns], cell, wanted[:, columns], steps=50)
    torch.testing.assert_close(moved, g[:, columns])


def test_a_constant_of_the_record_does_not_matter() -> None:
    scores, cell, wanted = problem()
    raised = scores + 50 * torch.randn(len(scores), 1)
    one, two = (balance(s, cell, wanted, steps=50) for s in (scores, raised))
    torch.testing.assert_close(one, two, atol=1e-3, rtol=1e-3)


def test_going_on_from_potentials_is_the_same_as_not_stopping() -> None:
    scores, cell, wanted = problem()
    whole = balance(scores, cell, wanted, steps=9)
    half = balance(scores, cell, wanted, steps=4)
    torch.testing.assert_close(balance(scores, cell, wanted, steps=5, potentials=half), whole)


def test_in_pieces_or_at_once_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, cell, wanted = problem()
    whole = balance(scores, cell, wanted, steps=9)
    monkeypatch.setattr(transport, "_BLOCK", 42)
    torch.testing.assert_close(balance(scores, cell, wanted, steps=9), whole)


def test_scores_far_apart_stay_finite() -> None:
    scores, cell, wanted = problem()
    g = balance(1e4 * scores, cell, wanted, steps=30)
    assert g.isfinite().all()
    assert plan(1e4 * scores, cell, g).isfinite().all()


def test_a_cell_of_one_record_spreads_it_over_its_shares() -> None:
    wanted = torch.tensor([[0.5, 0.3, 0.2]]).log()
    scores, cell = torch.tensor([[3.0, -1.0, 0.0]]), torch.tensor([0])
    w = plan(scores, cell, balance(scores, cell, wanted, steps=5))
    torch.testing.assert_close(w, wanted.exp())


def test_shares_by_preserved_value() -> None:
    w = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    found = shares(w, torch.tensor([0, 0, 2]), 3)
    torch.testing.assert_close(found, torch.tensor([[0.75, 0.25], [0.0, 0.0], [0.0, 1.0]]))
