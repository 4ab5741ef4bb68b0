"""Entropies with known answers."""

from __future__ import annotations

import math

import pytest
import torch

from withhold.learn.losses.entropy import prediction_entropy


@pytest.mark.parametrize("k", [2, 3, 60])
def test_the_uniform_prediction_has_ln_k(k: int) -> None:
    assert prediction_entropy(torch.full((4, k), 3.0)).item() == pytest.approx(math.log(k))


def test_a_sure_prediction_has_none() -> None:
    p = 1e4 * torch.eye(3)
    assert prediction_entropy(p).item() == 0
    assert prediction_entropy(2 * p - 1e4, multilabel=True).item() == 0


def test_a_hand_computed_value() -> None:
    p = torch.log(torch.tensor([[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64))
    expected = (1.5 * math.log(2) + math.log(3)) / 2
    assert prediction_entropy(p).item() == pytest.approx(expected)


def test_multilabel_is_the_mean_binary_entropy() -> None:
    p = torch.logit(torch.tensor([[0.5, 0.1], [0.5, 0.5]], dtype=torch.float64))
    one = -0.1 * math.log(0.1) - 0.9 * math.log(0.9)
    expected = (3 * math.log(2) + one) / 4
    assert prediction_entropy(p, multilabel=True).item() == pytest.approx(expected)


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_gradient_is_finite_and_leads_to_uniform(multilabel: bool) -> None:
    p = torch.tensor([[200.0, -200.0, 0.0], [2.0, 1.0, 0.0]], requires_grad=True)
    prediction_entropy(p, multilabel=multilabel).backward()
    assert p.grad is not None
    assert torch.isfinite(p.grad).all()
    moved = p.detach() + p.grad
    assert prediction_entropy(moved, multilabel=multilabel) > prediction_entropy(
        p, multilabel=multilabel
    )
