"""G(x) = n(x + n(MLP(x))) (MaSS Eq. 1)."""

from __future__ import annotations

import torch
from torch import nn

from withhold.learn.nets.modifier_net import ModifierNet, modify
from withhold.learn.nets.perceptron import unit


def test_the_output_has_unit_length_and_the_equation_holds() -> None:
    network = ModifierNet(6, (8, 4)).eval()
    x = unit(torch.randn(20, 6, generator=torch.Generator().manual_seed(0)))
    out = network(x)
    torch.testing.assert_close(out.norm(dim=1), torch.ones(20))
    change = network.change(x)
    expected = x + change / change.norm(dim=1, keepdim=True)
    torch.testing.assert_close(out, expected / expected.norm(dim=1, keepdim=True))


def test_a_modifier_that_says_zero_changes_nothing() -> None:
    x = unit(torch.randn(5, 3))
    torch.testing.assert_close(modify(nn.Linear(3, 3).requires_grad_(False).apply(zero), x), x)


def zero(layer: nn.Module) -> None:
    assert isinstance(layer, nn.Linear)
    layer.weight.zero_()
    layer.bias.zero_()


def test_the_exact_opposite_gives_zero_and_not_nan() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert torch.equal(modify(_Opposite(), x), torch.zeros(2, 2))


class _Opposite(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return -5 * x


def test_the_papers_widths_are_the_defaults() -> None:
    widths = [m.out_features for m in ModifierNet(64).modules() if isinstance(m, nn.Linear)]
    assert widths == [256, 128, 256, 64]
