"""`noise`: Gaussian noise on every feature.

Its deviation is `sigma` times that of each feature, or (`per: vector`) `sigma` times the typical
length of a record. MaSS, Table 5, adds the latter to unit vectors, with sigma 0.5 and 1.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from withhold.core.keyed import keyed_normal
from withhold.methods.features.baselines.baseline import ArrayModifier, Baseline
from withhold.methods.features.method_config import MethodConfig
from withhold.methods.modifier import FloatArray, Labels
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class NoiseConfig(MethodConfig):
    """How much noise."""

    sigma: float = Field(
        1.0, ge=0, description="standard deviation of the noise relative to that of each feature"
    )
    per: Literal["feature", "vector"] = Field(
        "feature",
        description="unit of sigma: deviation of a feature, or length of a record",
    )


class NoiseModifier(ArrayModifier):
    """x' = x + sigma * deviation * e, with e standard normal, derived from the record and a key."""

    method = "noise"
    shapes: ClassVar[dict[str, tuple[str, ...]]] = {"scale": ("d",)}
    least = 0

    def __init__(self, scale: FloatArray, key: bytes) -> None:
        self.scale, self.key = scale, key

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.scale)

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        return x + self.scale * keyed_normal(self.key, x)


@method
class Noise(Baseline):
    """The fitter."""

    name = "noise"
    config_type = NoiseConfig
    modifier_type = NoiseModifier

    def measure(
        self, train: Dataset, roles: Roles, config: NoiseConfig, seed: int
    ) -> dict[str, Any]:
        """Measure features, or lengths of records, on the training part."""
        x = train.x
        deviation = x.std(axis=0, dtype=np.float64)
        if config.per == "vector":
            deviation = np.full(x.shape[1], np.linalg.norm(x, axis=1).mean(dtype=np.float64))
        return {"scale": (config.sigma * deviation).astype(np.float32)}
