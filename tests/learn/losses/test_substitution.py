"""What a channel over candidates is asked for, with known answers."""

from __future__ import annotations

import math

import pytest
import torch

from withhold.learn.losses.substitution import class_entropy, label_loss, membership, record_entropy

LN2 = math.log(2)


def test_membership_of_classes_and_of_labels() -> None:
    assert membership(torch.tensor([1, -1, 0]), 3).tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    labels = torch.tensor([[0, 1], [1, -1]])
    assert membership(labels, 2, multilabel=True).tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]


def test_class_entropy_is_of_the_class_and_not_of_the_record() -> None:
    """Sure of each record, and even over the class: ln of the candidates used."""
    p = torch.eye(4)
    assert class_entropy(p, membership(torch.tensor([0, 0, 0, 0]), 1)).item() == pytest.approx(
        2 * LN2
    )
    assert class_entropy(p, membership(torch.tensor([0, 0, 1, 1]), 2)).item() == pytest.approx(LN2)
    assert class_entropy(p, membership(torch.tensor([0, 1, 2, 3]), 4)).item() == pytest.approx(
        0, abs=1e-6
    )
    assert record_entropy((p + 1e-30).log()).item() == pytest.approx(0, abs=1e-6)


def test_classes_weigh_by_their_records_and_missing_ones_not_at_all() -> None:
    p = torch.tensor([[1.0, 0], [0, 1.0], [1.0, 0], [0.5, 0.5]])
    member = membership(torch.tensor([0, 0, 1, -1]), 2)
    assert class_entropy(p, member).item() == pytest.approx(2 / 3 * LN2)
    nobody = membership(torch.tensor([-1, -1, -1, -1]), 2)
    assert class_entropy(p, nobody).item() == 0


def test_class_entropy_of_several_labels_is_their_mean() -> None:
    p = torch.eye(2)
    codes = torch.tensor([[0, 0], [0, 1]])
    found = class_entropy(p, membership(codes, 2, multilabel=True))
    assert found.item() == pytest.approx((LN2 + 0) / 2)


def test_record_entropy_of_an_even_draw() -> None:
    assert record_entropy(torch.full((3, 8), 1 / 8).log()).item() == pytest.approx(3 * LN2)


def test_label_loss_is_what_falls_on_candidates_of_the_same_label() -> None:
    candidates = membership(torch.tensor([0, 0, 1]), 3)
    p = torch.tensor([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]])
    found = label_loss(p, membership(torch.tensor([0, 1]), 3), candidates)
    assert found.item() == pytest.approx((LN2 + 2 * LN2) / 2, abs=1e-6)


def test_a_missing_label_and_a_class_without_candidate_are_left_out() -> None:
    candidates = membership(torch.tensor([0, 0, 1]), 3)
    p = torch.tensor([[0.25, 0.25, 0.5]] * 3)
    member = membership(torch.tensor([0, 2, -1]), 3)
    assert label_loss(p, member, candidates).item() == pytest.approx(LN2, abs=1e-6)
    assert label_loss(p[1:], member[1:], candidates).item() == 0


def test_gradients_are_finite_where_probabilities_vanish() -> None:
    p = torch.tensor([[1.0, 0.0], [1.0, 0.0]], requires_grad=True)
    member = membership(torch.tensor([0, 1]), 2)
    log_p = torch.tensor([[0.0, -200.0]], requires_grad=True)
    kept, spread = label_loss(p, member, torch.eye(2)), class_entropy(p, member)
    (kept + spread + record_entropy(log_p)).backward()
    assert p.grad is not None
    assert log_p.grad is not None
    assert torch.isfinite(p.grad).all()
    assert torch.isfinite(log_p.grad).all()
