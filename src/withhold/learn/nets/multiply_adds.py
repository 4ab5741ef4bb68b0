"""What one sample costs: the multiply-adds of convolutions and matrix products."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def multiply_adds(network: nn.Module, *shape: int) -> int:
    """Multiply-adds of a forward pass over one sample, e.g. of shape (3, 16, 112, 112).

    Only shapes are computed, so this takes milliseconds at any width and changes nothing in the
    network. A training step costs about three times as much: the gradients of inputs and of weights
    cost as much as the forward pass each.
    """
    state = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    shapes = {name: torch.empty_like(tensor, device="meta") for name, tensor in state.items()}
    # Two samples: a batch norm in training refuses a single value per channel.
    batch = torch.empty(2, *shape, device="meta")
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        torch.func.functional_call(network, shapes, (batch,))
    return counter.get_total_flops() // 4  # 2 samples, 2 operations for a multiply-add
