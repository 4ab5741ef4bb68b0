"""Frozen networks and spaces as the arrays of a bundle, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from withhold.methods.modifier import State
from withhold.nets.space import Space


def network_state(network: nn.Sequential) -> State:
    """Weights and biases of a folded network, by the place of their layer."""
    return {key: tensor.numpy() for key, tensor in network.state_dict().items()}


def network_of(state: State) -> nn.Sequential:
    """The folded network that was saved: linear layers with ReLU between them."""
    tensors = {
        key: torch.from_numpy(np.array(array)) for key, array in state.items() if key[0].isdigit()
    }
    layers: list[nn.Module] = []
    for name in sorted((k for k in tensors if k.endswith(".weight")), key=_number):
        outputs, inputs = tensors[name].shape
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
    network = nn.Sequential(*layers[:-1]).eval().requires_grad_(False)
    network.load_state_dict(tensors)
    return network


def space_state(space: Space) -> State:
    """The arrays of a space; its radius is a number and goes to the settings."""
    return {"space.mean": space.mean.numpy(), "space.deviation": space.deviation.numpy()}


def space_of(state: State, settings: dict[str, Any]) -> Space:
    """The space that was saved."""
    mean, deviation = (
        torch.from_numpy(np.array(state[f"space.{name}"])) for name in ("mean", "deviation")
    )
    return Space(mean, deviation, float(settings["radius"]))


def _number(name: str) -> int:
    return int(name.split(".")[0])
