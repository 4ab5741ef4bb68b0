"""The MaSS data modifier."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from withhold.learn.nets.perceptron import mlp, unit


class ModifierNet(nn.Module):
    """G(x) = n(x + n(MLP(x))), MLP d-256-128-256-d (MaSS Eq. 1). x: (n, d), unit length."""

    def __init__(self, dimension: int, hidden: Sequence[int] = (256, 128, 256)) -> None:
        super().__init__()
        self.change = mlp([dimension, *hidden, dimension])

    def forward(self, x: Tensor) -> Tensor:
        """Modified features, (n, d), unit length."""
        return modify(self.change, x)


def modify(change: nn.Module, x: Tensor) -> Tensor:
    """n(x + n(change(x))) for any network `change`."""
    return unit(x + unit(change(x)))
