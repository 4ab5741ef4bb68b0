"""The three similarities against hand-computed values, and the masking of missing labels."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from withhold.learn.losses.similarity import (
    ce_similarity,
    cosine_similarity,
    kl_similarity,
    masked_cross_entropy,
)


def logits(*rows: list[float]) -> Tensor:
    """Logits whose softmax is the rows."""
    return torch.log(torch.tensor(rows, dtype=torch.float64))


def odds(*rows: list[float]) -> Tensor:
    """Logits whose sigmoid is the rows."""
    return torch.logit(torch.tensor(rows, dtype=torch.float64))


@pytest.fixture
def random() -> Tensor:
    return torch.randn(6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_cosine_of_identical_opposite_and_orthogonal(random: Tensor) -> None:
    assert cosine_similarity(random, random).item() == pytest.approx(1)
    assert cosine_similarity(random, -3 * random).item() == pytest.approx(-1)
    x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 7.0]])
    assert cosine_similarity(x, y).item() == pytest.approx(0)


def test_cosine_is_the_mean_over_records() -> None:
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    y = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
    assert cosine_similarity(x, y).item() == pytest.approx((1 + math.sqrt(0.5)) / 2)


@pytest.mark.parametrize("multilabel", [False, True])
def test_kl_of_identical_is_zero_and_otherwise_negative(random: Tensor, multilabel: bool) -> None:
    other = random.flip(0)
    assert kl_similarity(random, random, multilabel=multilabel).item() == pytest.approx(0)
    assert kl_similarity(random, other, multilabel=multilabel).item() < -0.01


def test_kl_matches_a_hand_computed_value_and_its_direction() -> None:
    new, old = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    # KL(new || old) = .5 ln 2 + .25 ln 1 + .25 ln .5 = .25 ln 2
    assert kl_similarity(logits(new), logits(old)).item() == pytest.approx(-0.25 * math.log(2))
    new, old = [0.9, 0.1], [0.5, 0.5]
    forward = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)
    backward = 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(5)
    assert forward != pytest.approx(backward, abs=0.1)
    assert kl_similarity(logits(new), logits(old)).item() == pytest.approx(-forward)


def test_kl_is_the_mean_over_records() -> None:
    new, old = logits([0.5, 0.5], [0.9, 0.1]), logits([0.5, 0.5], [0.5, 0.5])
    one = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)
    assert kl_similarity(new, old).item() == pytest.approx(-one / 2)


def test_multilabel_kl_is_the_mean_over_labels_of_binary_divergences() -> None:
    new, old = odds([0.9, 0.5], [0.2, 0.5]), odds([0.5, 0.5], [0.2, 0.25])
    first = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)
    last = 0.5 * math.log(2) + 0.5 * math.log(0.5 / 0.75)
    assert kl_similarity(new, old, multilabel=True).item() == pytest.approx(-(first + last) / 4)


def test_ce_is_minus_the_cross_entropy() -> None:
    p = logits([0.7, 0.2, 0.1], [0.1, 0.8, 0.1])
    value = ce_similarity(p, torch.tensor([0, 2])).item()
    assert value == pytest.approx((math.log(0.7) + math.log(0.1)) / 2)


@pytest.mark.parametrize("multilabel", [False, True])
def test_minimising_ce_lowers_the_probability_of_the_truth(multilabel: bool) -> None:
    p = torch.zeros(4, 3, requires_grad=True)
    truth = torch.tensor([0, 1, 2, 0])
    codes = torch.nn.functional.one_hot(truth, 3) if multilabel else truth
    optimiser = torch.optim.SGD([p], lr=1.0)
    for _ in range(20):
        loss = ce_similarity(p, codes, multilabel=multilabel)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    of_truth = (p.sigmoid() if multilabel else p.softmax(1))[torch.arange(4), truth]
    assert (of_truth < (0.5 if multilabel else 1 / 3) - 0.1).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_missing_label_masks_its_record(random: Tensor, weighted: bool) -> None:
    codes = torch.tensor([0, -1, 2, 4, -1, 1])
    weight = torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0], dtype=torch.float64) if weighted else None
    p = random.clone().requires_grad_()
    loss = masked_cross_entropy(p, codes, weight=weight)
    loss.backward()
    known = codes >= 0
    alone = masked_cross_entropy(random[known], codes[known], weight=weight)
    assert loss.item() == pytest.approx(alone.item())
    assert p.grad is not None
    assert (p.grad[~known] == 0).all()
    assert (p.grad[known] != 0).any(dim=1).all()
    other = random.clone()
    other[~known] = 1e3
    assert masked_cross_entropy(other, codes, weight=weight).item() == pytest.approx(loss.item())


def test_a_missing_multilabel_entry_masks_only_itself() -> None:
    p = odds([0.9, 0.5], [0.2, 0.25])
    codes = torch.tensor([[1, -1], [-1, 0]])
    expected = -(math.log(0.9) + math.log(0.75)) / 2
    assert masked_cross_entropy(p, codes, multilabel=True).item() == pytest.approx(expected)
    p[0, 1], p[1, 0] = 50.0, -50.0
    assert masked_cross_entropy(p, codes, multilabel=True).item() == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("multilabel", [False, True])
def test_nothing_labelled_costs_nothing(multilabel: bool, weighted: bool) -> None:
    p = torch.randn(3, 2, requires_grad=True)
    codes = torch.full((3, 2) if multilabel else (3,), -1)
    weight = torch.ones(2) if weighted else None
    loss = masked_cross_entropy(p, codes, multilabel=multilabel, weight=weight)
    loss.backward()
    assert loss.item() == 0
    assert p.grad is not None
    assert (p.grad == 0).all()


def test_class_weights_weigh_the_mean() -> None:
    p = logits([0.7, 0.3], [0.6, 0.4], [0.5, 0.5])
    codes, weight = torch.tensor([0, 1, 0]), torch.tensor([1.0, 4.0], dtype=torch.float64)
    expected = -(math.log(0.7) + 4 * math.log(0.4) + math.log(0.5)) / 6
    assert masked_cross_entropy(p, codes, weight=weight).item() == pytest.approx(expected)


def test_equal_class_weights_change_nothing(random: Tensor) -> None:
    codes = torch.tensor([0, 1, -1, 3, 4, 0])
    weight = torch.full((5,), 0.3, dtype=torch.float64)
    plain = masked_cross_entropy(random, codes).item()
    assert masked_cross_entropy(random, codes, weight=weight).item() == pytest.approx(plain)


def test_multilabel_weights_weigh_the_positives() -> None:
    p, codes = odds([0.9, 0.5], [0.2, 0.25]), torch.tensor([[1, 0], [0, 1]])
    weight = torch.tensor([3.0, 5.0], dtype=torch.float64)
    terms = 3 * math.log(0.9) + math.log(0.5) + math.log(0.8) + 5 * math.log(0.25)
    value = masked_cross_entropy(p, codes, multilabel=True, weight=weight).item()
    assert value == pytest.approx(-terms / 4)
