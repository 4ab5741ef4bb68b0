"""The frozen result of `latent-adapter`."""

from __future__ import annotations

from torch import Tensor, nn

from withhold.learn.nets.perceptron import aligned_width, unit
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.features.space_network import SpaceNetworkModifier
from withhold.methods.modifier import FloatArray, Labels


class LatentAdapterModifier(SpaceNetworkModifier):
    """A(z) = n(z + MLP(z)) with the batch norms folded in, between `enter` and `leave`."""

    method = "latent-adapter"

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        return in_fixed_blocks(self._adapted, x, outputs=self.dimension)

    def _adapted(self, x: Tensor) -> Tensor:
        fill = aligned_width(self.dimension) - self.dimension
        z = nn.functional.pad(self.space.enter(x), (0, fill))
        return self.space.leave(unit(z + self._aligned(z))[:, : self.dimension])
