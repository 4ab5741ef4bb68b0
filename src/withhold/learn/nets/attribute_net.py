"""The attribute model: features to the classes of one attribute."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from withhold.learn.nets.perceptron import folded, mlp


class AttributeNet(nn.Module):
    """z = F(x), p = P(z); F is d-512-256 with BN and ReLU, P is linear (MaSS, Sec. 3.2.2, B.2)."""

    def __init__(
        self,
        dimension: int,
        classes: int,
        hidden: Sequence[int] = (512, 256),
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.features = mlp([dimension, *hidden], last_activation=True, dropout=dropout)
        self.head = nn.Linear(hidden[-1], classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """z: (n, hidden[-1]) and logits p: (n, classes)."""
        z = self.features(x)
        return z, self.head(z)

    def frozen(self) -> FrozenAttributeNet:
        """The same function, in evaluation mode and without gradients of its own."""
        return FrozenAttributeNet(folded(self.features), folded(nn.Sequential(self.head)))


class FrozenAttributeNet(nn.Module):
    """An attribute model that is no longer trained."""

    def __init__(self, features: nn.Sequential, head: nn.Sequential) -> None:
        super().__init__()
        self.features, self.head = features, head
        self.eval().requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """z and logits p of x."""
        z = self.features(x)
        return z, self.head(z)
