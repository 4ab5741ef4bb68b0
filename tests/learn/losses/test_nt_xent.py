"""NT-Xent against a plain reading of MaSS Eq. 5 to 7, and its symmetries."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from withhold.learn.losses.nt_xent import nt_xent


def naive(p: Tensor, p_new: Tensor, temperature: float) -> float:
    """Two loops, double precision, no tricks."""
    old, new = (v.detach().double().numpy() for v in (p, p_new))

    def e(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
        cosine = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        return math.exp(cosine / temperature)

    total = 0.0
    for x, x_new in ((old, new), (new, old)):
        for i in range(len(x)):
            below = sum(e(x[i], x_new[j]) for j in range(len(x)))
            below += sum(e(x[i], x[j]) for j in range(len(x)) if j != i)
            total += -math.log(e(x[i], x_new[i]) / below)
    return total / (2 * len(old))


def pairs(n: int, h: int, *, near: float, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Projections; `near` 1 makes the pairs alike, 0 unrelated, -1 opposite."""
    generator = torch.Generator().manual_seed(seed)
    p, noise = (torch.randn(n, h, generator=generator) for _ in range(2))
    return p, near * p + 0.3 * (1.1 - abs(near)) * noise


@pytest.mark.parametrize("temperature", [0.01, 0.07, 0.1, 1.0])
@pytest.mark.parametrize("near", [1.0, 0.0, -1.0])
@pytest.mark.parametrize(("n", "h"), [(2, 128), (8, 3), (33, 16)])
def test_it_equals_the_naive_form(n: int, h: int, near: float, temperature: float) -> None:
    p, p_new = pairs(n, h, near=near)
    expected = naive(p, p_new, temperature)
    # Logits reach 1 / temperature, and float32 holds them to 1e-7 of that.
    tolerance = 1e-5 if temperature >= 0.07 else 1e-4
    found = nt_xent(p, p_new, temperature=temperature).item()
    assert found == pytest.approx(expected, rel=1e-6, abs=tolerance)


def test_two_records_by_hand() -> None:
    """x and x' alike, the two records orthogonal: l = -log(e^1/t / (e^1/t + 2 e^0))."""
    p = torch.eye(2)
    expected = math.log(1 + 2 * math.exp(-2))
    assert nt_xent(p, p, temperature=0.5).item() == pytest.approx(expected, abs=1e-6)


def test_it_is_symmetric() -> None:
    p, p_new = pairs(12, 8, near=0.5)
    assert nt_xent(p, p_new).item() == pytest.approx(nt_xent(p_new, p).item(), abs=1e-5)


def test_the_order_of_the_records_does_not_matter() -> None:
    p, p_new = pairs(12, 8, near=0.5)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    assert nt_xent(p[order], p_new[order]).item() == pytest.approx(
        nt_xent(p, p_new).item(), abs=1e-5
    )
    wrong = nt_xent(p[order], p_new).item()
    assert wrong > nt_xent(p, p_new).item() + 0.1


def test_the_lengths_do_not_matter() -> None:
    p, p_new = pairs(12, 8, near=0.5)
    lengths = torch.rand(12, 1, generator=torch.Generator().manual_seed(1)) * 5 + 0.1
    scaled = nt_xent(p * lengths, p_new / lengths).item()
    assert scaled == pytest.approx(nt_xent(p, p_new).item(), abs=1e-5)


@pytest.mark.parametrize("temperature", [0.07, 0.5])
def test_the_gradient_is_right(temperature: float) -> None:
    p, p_new = (v.double().requires_grad_() for v in pairs(5, 4, near=0.3))
    assert torch.autograd.gradcheck(lambda a, b: nt_xent(a, b, temperature=temperature), (p, p_new))


@pytest.mark.parametrize("temperature", [0.01, 0.07])
def test_value_and_gradient_are_finite_where_every_cosine_is_negative(temperature: float) -> None:
    """The hardest case for exponentials: the positive far away and no negative near."""
    p = torch.tensor([[1.0, 0.0], [-0.5, 0.8]])
    p_new = torch.tensor([[-1.0, -0.1], [0.4, -0.9]], requires_grad=True)
    loss = nt_xent(p, p_new, temperature=temperature)
    loss.backward()
    assert loss.item() == pytest.approx(naive(p, p_new, temperature), rel=1e-5)
    assert p_new.grad is not None
    assert torch.isfinite(p_new.grad).all()
