"""Penalties for knowing too much or too little: zero within the limit, v² + |v| beyond it."""

from __future__ import annotations

import pytest
import torch

from withhold.learn.losses.limit_penalty import leak_penalty, loss_penalty


@pytest.mark.parametrize(
    ("cross_entropy", "most", "expected"),
    [
        (0.7, 0.0, 0.0),  # the adversary knows nothing
        (0.9, 0.0, 0.0),  # and less than nothing earns nothing
        (0.4, 0.0, 0.3**2 + 0.3),
        (0.4, 0.3, 0.0),  # as much as may leak
        (0.4, 0.1, 0.2**2 + 0.2),
    ],
)
def test_a_leak_costs_what_is_beyond_its_limit(
    cross_entropy: float, most: float, expected: float
) -> None:
    found = leak_penalty(torch.tensor(cross_entropy), entropy=0.7, most=most)
    assert found.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("cross_entropy", "least", "expected"),
    [
        (0.7, 0.0, 0.0),
        (0.1, 0.5, 0.0),  # more than asked earns nothing
        (0.2, 0.5, 0.0),
        (0.7, 0.5, 0.5**2 + 0.5),
        (0.3, 0.5, 0.1**2 + 0.1),
    ],
)
def test_a_loss_costs_what_is_below_its_limit(
    cross_entropy: float, least: float, expected: float
) -> None:
    found = loss_penalty(torch.tensor(cross_entropy), entropy=0.7, least=least)
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_gradients_lead_back_to_the_limit() -> None:
    for penalty, limit, start in ((leak_penalty, "most", 0.2), (loss_penalty, "least", 0.6)):
        cross_entropy = torch.tensor(start, requires_grad=True)
        penalty(cross_entropy, entropy=0.7, **{limit: 0.3}).backward()
        assert cross_entropy.grad is not None
        towards = -cross_entropy.grad.item()
        assert (0.4 - start) * towards > 0
