"""The attribute-agnostic encoder of the preservation branch."""

from __future__ import annotations

from torch import Tensor, nn

from withhold.learn.nets.perceptron import folded, mlp


class ContrastiveNet(nn.Module):
    """p = P*(F*(x)); F* is d-d-d with BN and ReLU between, P* an MLP projector (MaSS, B.1)."""

    def __init__(self, dimension: int, projection: int = 128) -> None:
        super().__init__()
        self.network = nn.Sequential(
            *mlp([dimension, dimension, dimension]),
            nn.ReLU(inplace=True),
            *mlp([dimension, dimension, projection]),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Projections, (n, projection), not normalised: the loss takes cosines."""
        out: Tensor = self.network(x)
        return out

    def frozen(self) -> nn.Sequential:
        """The same function, in evaluation mode and without gradients of its own."""
        return folded(self.network)
