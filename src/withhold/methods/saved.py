"""Convert frozen networks and spaces to the arrays of a bundle, and back."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import nn

from withhold.core.errors import UserError
from withhold.learn.nets.space import Space
from withhold.methods.checked_state import Arrays, StateSettings
from withhold.methods.modifier import State


def network_state(network: nn.Sequential) -> State:
    """Weights and biases of a folded network, by the position of their layer."""
    return {key: tensor.numpy() for key, tensor in network.state_dict().items()}


def network_of(arrays: Arrays, inputs: int, outputs: int | None = None) -> nn.Sequential:
    """The folded network that was saved: linear layers at positions 0, 2, … with ReLU between them.

    The first layer has `inputs` inputs, and the last has `outputs` outputs.
    """
    layers: list[nn.Module] = []
    width = inputs
    while not layers or arrays.has(f"{len(layers)}.weight"):
        place = len(layers)
        weight = arrays.take(f"{place}.weight", f"width {place}", width)
        bias = arrays.take(f"{place}.bias", f"width {place}")
        layer = nn.Linear(width, len(bias)).requires_grad_(False)
        layer.weight.copy_(torch.from_numpy(weight))
        layer.bias.copy_(torch.from_numpy(bias))
        layers += [layer, nn.ReLU(inplace=True)]
        width = len(bias)
    if outputs is not None and width != outputs:
        raise UserError(
            f"the network of the modifier has {width:,} outputs instead of {outputs:,};"
            " restore the bundle, or fit again"
        )
    return nn.Sequential(*layers[:-1]).eval().requires_grad_(False)


def space_state(space: Space) -> State:
    """The arrays of a space. Its radius is a number and is saved in the settings."""
    return {"space.mean": space.mean.numpy(), "space.deviation": space.deviation.numpy()}


class SpaceSettings(StateSettings):
    """Settings of a modifier that works in a space."""

    radius: float = Field(ge=0)


def space_of(arrays: Arrays, settings: SpaceSettings) -> Space:
    """The space that was saved."""
    mean = torch.from_numpy(arrays.take("space.mean", "d"))
    deviation = torch.from_numpy(arrays.take("space.deviation", "d", least=0))
    return Space(mean, deviation, settings.radius)
