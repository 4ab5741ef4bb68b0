"""The mean distance: a norm, not its square, with a gradient everywhere."""

from __future__ import annotations

import pytest
import torch

from withhold.learn.losses.reconstruction import reconstruction


def test_it_is_the_norm_and_the_mean_over_records() -> None:
    x = torch.zeros(2, 2)
    x_new = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert reconstruction(x_new, x).item() == pytest.approx((5 + 2) / 2)


def test_it_scales_with_the_distance() -> None:
    x, change = torch.randn(5, 3), torch.randn(5, 3)
    once, twice = reconstruction(x + change, x).item(), reconstruction(x + 2 * change, x).item()
    assert twice == pytest.approx(2 * once, rel=1e-4)


def test_the_gradient_is_finite_where_nothing_changed() -> None:
    x = torch.randn(4, 3)
    x_new = x.clone().requires_grad_()
    loss = reconstruction(x_new, x)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-5)
    assert x_new.grad is not None
    assert (x_new.grad == 0).all()
