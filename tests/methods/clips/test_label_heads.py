"""Losses of several attributes: masks, the target of the suppression, and what is present."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from methods.clips.tiny_players import PRIVATE
from withhold.methods.clips.label_heads import (
    Head,
    LabelHeads,
    accuracy,
    hiding_loss,
    label_codes,
    majority,
    reading_loss,
)
from withhold.records.attribute import Attribute

CODES = torch.tensor([[0, 1, -1], [3, 0, 1], [-1, -1, 1], [2, 1, 0]])


def scores(seed: int = 0) -> torch.Tensor:
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_reading_loss_is_the_mean_of_what_is_known() -> None:
    s = scores()
    person = [F.cross_entropy(s[[i], :4], CODES[[i], 0]) for i in (0, 1, 3)]
    marks = [
        F.binary_cross_entropy_with_logits(s[i, 4 + k], CODES[i, 1 + k].double())
        for i in range(4) for k in range(2) if CODES[i, 1 + k] >= 0
    ]  # fmt: skip
    expected = (torch.stack(person).mean() + torch.stack(marks).mean()) / 2
    assert float(reading_loss(PRIVATE, s, CODES)) == pytest.approx(float(expected))


def test_an_attribute_without_a_label_does_not_count() -> None:
    s, codes = scores(), CODES.clone()
    codes[:, 0] = -1
    marks = LabelHeads(PRIVATE.heads[1:])
    assert torch.equal(reading_loss(PRIVATE, s, codes), reading_loss(marks, s[:, 4:], codes[:, 1:]))
    assert float(reading_loss(PRIVATE, s, torch.full_like(codes, -1))) == 0


@pytest.mark.parametrize("kind", ["uniform", "entropy"])
def test_the_target_is_the_greatest_entropy(kind: str) -> None:
    shown = torch.ones(4, 3, dtype=torch.bool)
    assert float(hiding_loss(PRIVATE, torch.zeros(4, 6), shown, kind)) == pytest.approx(0, abs=1e-6)
    s = (scores() * 2).requires_grad_()
    assert hiding_loss(PRIVATE, s.detach(), shown, kind) > 0.1
    optimiser = torch.optim.Adam([s], 0.1)
    for _ in range(300):
        optimiser.zero_grad()
        hiding_loss(PRIVATE, s, shown, kind).backward()
        optimiser.step()
    # 0.5 for a binary label: a target of 1.0 would say yes of everybody.
    torch.testing.assert_close(s[:, 4:].sigmoid().detach(), torch.full((4, 2), 0.5).double(),
                               atol=0.01, rtol=0)  # fmt: skip
    torch.testing.assert_close(s[:, :4].softmax(1).detach(), torch.full((4, 4), 0.25).double(),
                               atol=0.01, rtol=0)  # fmt: skip


def test_the_values_of_both_suppression_terms() -> None:
    heads = LabelHeads((Head("a", 2, multilabel=False),))
    s, shown = torch.tensor([[math.log(3.0), 0.0]]), torch.ones(1, 1, dtype=torch.bool)
    kl = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    assert float(hiding_loss(heads, s, shown, "uniform")) == pytest.approx(kl)
    h = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert float(hiding_loss(heads, s, shown, "entropy")) == pytest.approx(math.log(2) - h)


def test_what_is_not_shown_has_no_gradient() -> None:
    shown = torch.tensor([[1, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]], dtype=torch.bool)
    s = scores().requires_grad_()
    hiding_loss(PRIVATE, s, shown, "uniform").backward()
    touched = s.grad != 0
    assert torch.equal(touched[:, :4], shown[:, :1].expand(4, 4))
    assert torch.equal(touched[:, 4:], shown[:, 1:])


def test_accuracy_and_majority_count_known_labels() -> None:
    s = torch.zeros(4, 6)
    s[:, 2] = 1  # always class 2
    s[:, 4:] = torch.tensor([1.0, -1.0])  # always the first label, never the second
    assert float(accuracy(PRIVATE, s, CODES)) == pytest.approx((1 / 3 + 3 / 6) / 2)
    assert majority(PRIVATE, CODES) == pytest.approx((1 / 3 + 4 / 6) / 2)


def test_present_is_a_known_class_or_a_label_of_one() -> None:
    expected = [[1, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert PRIVATE.present(CODES).int().tolist() == expected


def test_codes_of_attributes_stand_side_by_side() -> None:
    one = Attribute("person", "categorical", ("a", "b", "c", "d"), np.array([0, 3, -1]))
    two = Attribute("marks", "multilabel", ("x", "y"), np.array([[1, -1], [0, 1], [-1, 1]]))
    assert LabelHeads.of([one, two]) == PRIVATE
    assert label_codes([one, two]).tolist() == [[0, 1, -1], [3, 0, 1], [-1, -1, 1]]
    assert (PRIVATE.width, PRIVATE.columns) == (6, 3)
