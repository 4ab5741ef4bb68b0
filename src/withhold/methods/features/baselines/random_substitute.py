"""`random-substitute`: each record becomes a random training record, independent of its values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from withhold.methods.channel import Channel
from withhold.methods.features.baselines.baseline import ArrayModifier, Baseline
from withhold.methods.features.method_config import MethodConfig
from withhold.methods.modifier import FloatArray, Labels
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class RandomSubstituteConfig(MethodConfig):
    """How many candidates."""

    candidates: int = Field(1024, ge=1, description="training records to draw from")


class RandomSubstituteModifier(ArrayModifier, Channel):
    """x' = c_j, j uniform and derived from the record and a key; codes: (m, d).

    The codes are real records of real people: a baseline to measure against, not to release.
    """

    method = "random-substitute"
    shapes: ClassVar[dict[str, tuple[str, ...]]] = {"candidates": ("N", "d")}

    def __init__(self, candidates: FloatArray, key: bytes) -> None:
        self.candidates = self.codes = candidates
        self.key = key

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        shape = (len(x), len(self.codes))
        return np.full(shape, 1 / len(self.codes), np.float32)


@method
class RandomSubstitute(Baseline):
    """The fitter."""

    name = "random-substitute"
    config_type = RandomSubstituteConfig
    modifier_type = RandomSubstituteModifier
    warning = (
        "random-substitute releases training records unchanged: use it to compare methods, and do"
        " not publish its release"
    )

    def measure(
        self, train: Dataset, roles: Roles, config: RandomSubstituteConfig, seed: int
    ) -> dict[str, Any]:
        """Choose candidates from the training part."""
        rng = np.random.default_rng([seed, 0x5B])
        chosen = rng.permutation(len(train))[: config.candidates]
        return {"candidates": train.x[np.sort(chosen)]}
