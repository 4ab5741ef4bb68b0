"""The frozen result of `mass-it`."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from withhold.core.keyed import keyed_normal
from withhold.learn.nets.generator import beside
from withhold.learn.nets.perceptron import aligned_width, unit
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.features.space_network import SpaceNetworkModifier
from withhold.methods.modifier import FloatArray, Labels


class MassItModifier(SpaceNetworkModifier):
    """n(MLP([x, e])) in a space, with e standard normal, derived from the record and a key.

    The same record and key give the same noise, so repeated queries cannot average it out.
    """

    method = "mass-it"
    inputs = 2

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        both = np.concatenate([x, keyed_normal(self.key, x)], axis=1)
        return in_fixed_blocks(self._generated, both, outputs=self.dimension)

    def _generated(self, both: Tensor) -> Tensor:
        d = self.dimension
        # Copies, so that the rows of both halves are aligned as kernels expect.
        x, noise = both[:, :d].contiguous(), both[:, d:].contiguous()
        fill = aligned_width(2 * d) - 2 * d
        z = self._aligned(nn.functional.pad(beside(self.space.enter(x), noise), (0, fill)))
        return self.space.leave(unit(z)[:, :d])
