"""`noise`: Gaussian noise on every feature.

Its deviation is `sigma` times that of each feature, or (`per: vector`) `sigma` times the typical
length of a record: that is what MaSS, Table 5, adds to unit vectors with sigma 0.5 and 1.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from withhold.core.keyed import keyed_normal
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.modifier import FeatureModifier, FloatArray, Labels, State
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class NoiseConfig(BaseModel):
    """How much noise."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sigma: float = Field(
        1.0, ge=0, description="standard deviation of the noise over that of each feature"
    )
    per: Literal["feature", "vector"] = Field(
        "feature", description="what sigma is measured in: each feature, or the length of a record"
    )


class NoiseModifier(FeatureModifier):
    """x' = x + sigma * deviation * e, e standard normal and derived from the record and a key."""

    method = "noise"

    def __init__(self, scale: FloatArray, key: bytes) -> None:
        self.scale, self.key = scale, key

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.scale)

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        return x + self.scale * keyed_normal(self.key, x)

    def state(self) -> State:
        """Noise per feature."""
        return {"scale": self.scale}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> NoiseModifier:
        """The modifier that was saved."""
        arrays = Arrays(state)
        checked_modifier(settings, StateSettings)
        made = cls(arrays.take("scale", "d", least=0), key)
        arrays.close()
        return made


@method
class Noise:
    """The fitter."""

    name = "noise"
    config_type = NoiseConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = NoiseModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: NoiseConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> NoiseModifier:
        """Measure features, or lengths of records, on the training part."""
        x = dataset.part("train").x
        deviation = x.std(axis=0, dtype=np.float64)
        if config.per == "vector":
            deviation = np.full(x.shape[1], np.linalg.norm(x, axis=1).mean(dtype=np.float64))
        return NoiseModifier((config.sigma * deviation).astype(np.float32), journal.key)
