"""A modifier that is a network between `enter` and `leave` of a space."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from torch import nn

from withhold.learn.nets.perceptron import aligned
from withhold.learn.nets.space import Space
from withhold.methods.checked_state import Arrays, checked_modifier
from withhold.methods.modifier import FeatureModifier, State
from withhold.methods.saved import SpaceSettings, network_of, network_state, space_of, space_state


class SpaceNetworkModifier(FeatureModifier):
    """Saves and loads such a modifier; subclasses define what the network computes."""

    inputs: ClassVar[int] = 1  # width of the network's input, in dimensions of the space

    def __init__(self, network: nn.Sequential, space: Space, key: bytes) -> None:
        self.network, self.space, self.key = network, space, key
        self._aligned = aligned(network)

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.space.mean)

    def state(self) -> State:
        """Weights and biases of the linear layers, and the space."""
        return network_state(self.network) | space_state(self.space)

    def settings(self) -> dict[str, Any]:
        """The radius of the space."""
        return {"radius": self.space.radius}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> Self:
        """The modifier that was saved."""
        arrays = Arrays(state)
        space = space_of(arrays, checked_modifier(settings, SpaceSettings))
        d = arrays.size("d")
        made = cls(network_of(arrays, cls.inputs * d, d), space, key)
        arrays.close()
        return made
