"""The memory format of convolutions."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def to_channels_last(network: nn.Module, device: torch.device) -> None:
    """Move a network to a device, its weights with channels last in memory.

    A training step of a narrow ResNet at 32 pixels takes half the time on one core.
    """
    move: Any = network.to  # the type stubs of torch lack memory_format
    move(device, memory_format=torch.channels_last)
