"""The frozen result of `mass`."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from withhold.learn.nets.modifier_net import modify
from withhold.learn.nets.perceptron import aligned, aligned_width
from withhold.learn.nets.space import Space
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.checked_state import Arrays, checked_modifier
from withhold.methods.modifier import FloatArray, Labels, Modifier, State
from withhold.methods.saved import SpaceSettings, network_of, network_state, space_of, space_state


class MassModifier(Modifier):
    """n(x + n(MLP(x))) with the batch norms folded in, between `enter` and `leave` of a space."""

    method = "mass"

    def __init__(self, change: nn.Sequential, space: Space, key: bytes) -> None:
        self.change, self.space, self.key = change, space, key
        self._aligned = aligned(change)

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.space.mean)

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        return in_fixed_blocks(self._modified, x, outputs=self.dimension)

    def _modified(self, x: Tensor) -> Tensor:
        fill = aligned_width(self.dimension) - self.dimension
        z = modify(self._aligned, nn.functional.pad(self.space.enter(x), (0, fill)))
        return self.space.leave(z[:, : self.dimension])

    def state(self) -> State:
        """Weights and biases of the linear layers, and the space."""
        return network_state(self.change) | space_state(self.space)

    def settings(self) -> dict[str, Any]:
        """The radius of the space."""
        return {"radius": self.space.radius}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> MassModifier:
        """The modifier that was saved."""
        arrays = Arrays(state)
        space = space_of(arrays, checked_modifier(settings, SpaceSettings))
        d = arrays.size("d")
        made = cls(network_of(arrays, d, d), space, key)
        arrays.close()
        return made
