"""The frozen result of `mass`."""

from __future__ import annotations

from torch import Tensor, nn

from withhold.learn.nets.modifier_net import modify
from withhold.learn.nets.perceptron import aligned_width
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.features.space_network import SpaceNetworkModifier
from withhold.methods.modifier import FloatArray, Labels


class MassModifier(SpaceNetworkModifier):
    """n(x + n(MLP(x))) with the batch norms folded in, between `enter` and `leave` of a space."""

    method = "mass"

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        return in_fixed_blocks(self._modified, x, outputs=self.dimension)

    def _modified(self, x: Tensor) -> Tensor:
        fill = aligned_width(self.dimension) - self.dimension
        z = modify(self._aligned, nn.functional.pad(self.space.enter(x), (0, fill)))
        return self.space.leave(z[:, : self.dimension])
