"""InfoNCE with known answers, and the bound that it is."""

from __future__ import annotations

import math

import pytest
import torch

from withhold.learn.losses.info_nce import info_nce


@pytest.mark.parametrize("n", [2, 5, 64])
def test_a_constant_tells_nothing(n: int) -> None:
    p = torch.randn(n, 4, generator=torch.Generator().manual_seed(0))
    loss = info_nce(p, torch.ones(n, 4))
    # One direction is ln n exactly, the other is at least that: the mean bounds I by 0 or less.
    assert loss.item() >= math.log(n) - 1e-5


def test_a_copy_tells_everything() -> None:
    p = torch.eye(6)
    assert info_nce(p, 3 * p, temperature=0.05).item() == pytest.approx(0, abs=1e-6)


def test_a_hand_computed_value() -> None:
    p, p_new = torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    c = 1 / math.sqrt(2)
    rows = [math.log(math.e + math.exp(c)) - 1, math.log(1 + math.exp(c)) - c]
    columns = [math.log(math.e + 1) - 1, math.log(2 * math.exp(c)) - c]
    found = info_nce(p, p_new, temperature=1.0).item()
    assert found == pytest.approx((sum(rows) + sum(columns)) / 4, abs=1e-6)


def test_the_order_of_the_pairs_tells_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    p, p_new = (torch.randn(20, 5, generator=generator) for _ in range(2))
    order = torch.randperm(20, generator=generator)
    one, two = info_nce(p, p_new), info_nce(p[order], p_new[order])
    assert one.item() == pytest.approx(two.item(), abs=1e-5)
    assert info_nce(p_new, p).item() == pytest.approx(one.item(), abs=1e-5)
