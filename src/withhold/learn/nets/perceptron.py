"""Multi-layer perceptrons, and their frozen form with the batch norms folded in."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn


def mlp(
    sizes: Sequence[int], *, last_activation: bool = False, dropout: float = 0.0
) -> nn.Sequential:
    """Linear layers of `sizes` with batch norm and ReLU between them.

    With `last_activation` the last layer has them too (a feature extractor, not a head).
    """
    layers: list[nn.Module] = []
    last = len(sizes) - 2
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        layers.append(nn.Linear(inputs, outputs))
        if i < last or last_activation:
            layers += [nn.BatchNorm1d(outputs), nn.ReLU(inplace=True)]
            if dropout:
                layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)


def folded(network: nn.Sequential) -> nn.Sequential:
    """The same function in evaluation mode, its batch norms folded into the linear layers.

    BN(Wx + b) = (g/s) W x + (g/s)(b - m) + c, with s = sqrt(v + e): a third fewer passes over
    memory, and parameters that ask for no gradient. (torch's `fuse_linear_bn_eval` multiplies by
    rsqrt, which rounds one weight in five otherwise: old seeds would give other bytes.)
    """
    out: list[nn.Module] = []
    for layer in network:
        if isinstance(layer, nn.Linear):
            out.append(deepcopy(layer))
        elif isinstance(layer, nn.BatchNorm1d):
            linear = out[-1]
            assert isinstance(linear, nn.Linear)
            assert layer.running_var is not None
            assert layer.running_mean is not None
            with torch.no_grad():
                scale = layer.weight / torch.sqrt(layer.running_var + layer.eps)
                linear.weight.mul_(scale[:, None])
                linear.bias.sub_(layer.running_mean).mul_(scale).add_(layer.bias)
        elif not isinstance(layer, nn.Dropout):
            out.append(layer)
    return nn.Sequential(*out).eval().requires_grad_(False)


def aligned(network: nn.Sequential) -> nn.Sequential:
    """A folded network with every width filled up with zeros to its `aligned_width`.

    It computes the same function of records that are filled up likewise. Kernels choose the order
    of their sums by the address at which a row begins. Here every row begins at a multiple of 64
    bytes, so the result for a record does not depend on its place in a block.
    """
    out: list[nn.Module] = []
    for layer in network:
        if isinstance(layer, nn.Linear):
            rows, columns = (aligned_width(n) - n for n in layer.weight.shape)
            weight = nn.functional.pad(layer.weight.detach(), (0, columns, 0, rows))
            out.append(linear(weight, nn.functional.pad(layer.bias.detach(), (0, rows))))
        else:
            out.append(layer)
    return nn.Sequential(*out).eval().requires_grad_(False)


def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """A frozen layer x -> weight x + bias; weight (outputs, inputs), bias (outputs,)."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, *weight.T.shape)
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer.requires_grad_(False)


def aligned_width(width: int) -> int:
    """The next multiple of 16 floats, which are 64 bytes."""
    return -(-width // 16) * 16


def unit(v: Tensor) -> Tensor:
    """n(v) = v / ||v||, and 0 where ||v|| = 0, over the last axis."""
    return nn.functional.normalize(v, dim=-1)
