"""From the user's features to the unit sphere on which MaSS works, and back to the same space.

Embeddings that are L2-normalised stay as they are. Any other features (a table, raw counts) are
standardised, put on the sphere, and put back at the training data's typical radius:

z = n((x - mu) / sigma),   x' = mu + sigma * radius * z'

The length of a record's own standardised vector is not kept: it would be a channel that the
modifier does not control.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from withhold.learn.nets.perceptron import unit


@dataclass(frozen=True, eq=False)
class Space:
    """An affine frame around the unit sphere; mean, deviation: (d,).

    A column that was constant in the training data has deviation 0: it is ignored on the way in and
    is that constant on the way out.
    """

    mean: Tensor
    deviation: Tensor
    radius: float

    def enter(self, x: Tensor) -> Tensor:
        """Features (n, d) to the sphere."""
        if self.is_sphere:
            return unit(x)
        # x / infinity is 0 for any x.
        return unit((x - self.mean) / self.deviation.where(self.deviation > 0, torch.inf))

    def leave(self, z: Tensor) -> Tensor:
        """From the sphere back to the user's space."""
        return z if self.is_sphere else self.mean + self.deviation * self.radius * z

    @property
    def is_sphere(self) -> bool:
        """Whether the user's features are unit vectors already."""
        return self.radius == 0.0

    @classmethod
    def of(cls, x: npt.NDArray[np.float32]) -> Space:
        """The frame that fits features x: (n, d)."""
        d = x.shape[1]
        norms = np.linalg.norm(x, axis=1)
        if np.abs(norms - 1).max() < 1e-3:
            return cls(torch.zeros(d), torch.ones(d), 0.0)
        mean = x.mean(axis=0, dtype=np.float64)
        deviation = x.std(axis=0, dtype=np.float64)
        # Rounding gives a constant column a deviation that is not quite 0.
        deviation[deviation <= np.maximum(1e-9 * np.abs(mean), 1e-30)] = 0
        standard = (x - mean) / np.where(deviation > 0, deviation, np.inf)
        length = np.sqrt((standard**2).sum(axis=1).mean())
        return cls(
            torch.from_numpy(mean.astype(np.float32)),
            torch.from_numpy(deviation.astype(np.float32)),
            float(max(length, 1e-6)),
        )
