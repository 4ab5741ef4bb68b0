"""The frozen result of `mass-it`."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, nn

from withhold.core.keyed import keyed_normal
from withhold.learn.nets.generator import beside
from withhold.learn.nets.perceptron import aligned, aligned_width, unit
from withhold.learn.nets.space import Space
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.checked_state import Arrays, checked_modifier
from withhold.methods.modifier import FloatArray, Labels, Modifier, State
from withhold.methods.saved import SpaceSettings, network_of, network_state, space_of, space_state


class MassItModifier(Modifier):
    """n(MLP([x, e])), e standard normal and derived from the record and a key, in a space.

    The same record under the same key gets the same noise: asking twice averages nothing out.
    """

    method = "mass-it"

    def __init__(self, network: nn.Sequential, space: Space, key: bytes) -> None:
        self.network, self.space, self.key = network, space, key
        self._aligned = aligned(network)

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.space.mean)

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        both = np.concatenate([x, keyed_normal(self.key, x)], axis=1)
        return in_fixed_blocks(self._generated, both, outputs=self.dimension)

    def _generated(self, both: Tensor) -> Tensor:
        d = self.dimension
        # The halves are cut out as they lie; rows of their own begin where a kernel expects them.
        x, noise = both[:, :d].contiguous(), both[:, d:].contiguous()
        fill = aligned_width(2 * d) - 2 * d
        z = self._aligned(nn.functional.pad(beside(self.space.enter(x), noise), (0, fill)))
        return self.space.leave(unit(z)[:, :d])

    def state(self) -> State:
        """Weights and biases of the linear layers, and the space."""
        return network_state(self.network) | space_state(self.space)

    def settings(self) -> dict[str, Any]:
        """The radius of the space."""
        return {"radius": self.space.radius}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> MassItModifier:
        """The modifier that was saved."""
        arrays = Arrays(state)
        space = space_of(arrays, checked_modifier(settings, SpaceSettings))
        d = arrays.size("d")
        made = cls(network_of(arrays, 2 * d, d), space, key)
        arrays.close()
        return made
