"""The parts that Inception networks share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ConvNormRelu(nn.Module):
    """Convolution, batch norm, relu."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: int | tuple[int, int],
        *,
        stride: int = 1,
        padding: int | tuple[int, int] = 0,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, stride=stride, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        return functional.relu(self.bn(self.conv(x)), inplace=True)


class Branches(nn.Module):
    """Several networks on one input, their channels side by side; `branch0` is the first."""

    def __init__(self, *branches: nn.Module, first: int = 0) -> None:
        super().__init__()
        self.names = [f"branch{i}" for i in range(first, first + len(branches))]
        for name, branch in zip(self.names, branches, strict=True):
            self.add_module(name, branch)

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        return torch.cat([getattr(self, name)(x) for name in self.names], dim=1)
