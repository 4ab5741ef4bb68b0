"""The generator of `mass-it`: a record and noise of the same dimension to a new record."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from withhold.learn.nets.perceptron import mlp, unit


class GeneratorNet(nn.Module):
    """G(x, e) = n(MLP([x, e])), MLP 2d-256-128-256-d. x: (n, d), unit length; e: (n, d), N(0, I).

    Unlike in `mass`, nothing of x bypasses the network.
    """

    def __init__(self, dimension: int, hidden: Sequence[int] = (256, 128, 256)) -> None:
        super().__init__()
        self.network = mlp([2 * dimension, *hidden, dimension])

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """Generated features, (n, d), unit length."""
        return unit(self.network(beside(x, noise)))


def beside(x: Tensor, noise: Tensor) -> Tensor:
    """The network's input [x, e / sqrt(d)]: (n, d) twice -> (n, 2d).

    Scaled like this, the noise is about as long as x, which has length 1.
    """
    return torch.cat([x, noise / x.shape[1] ** 0.5], dim=1)
