"""`constant`: every record becomes the mean of the training data. The 0 % control."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from withhold.methods.channel import Channel
from withhold.methods.features.baselines.baseline import ArrayModifier, Baseline
from withhold.methods.modifier import FloatArray, Labels
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class ConstantModifier(ArrayModifier, Channel):
    """x' = mean of the training part: a codebook of one code."""

    method = "constant"
    shapes: ClassVar[dict[str, tuple[str, ...]]] = {"mean": ("d",)}

    def __init__(self, mean: FloatArray, key: bytes) -> None:
        self.mean, self.codes, self.key = mean, mean[None], key

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        return np.ones((len(x), 1), np.float32)


@method
class Constant(Baseline):
    """The fitter."""

    name = "constant"
    modifier_type = ConstantModifier

    def measure(self, train: Dataset, roles: Roles, config: Any, seed: int) -> dict[str, Any]:
        """The mean of all records."""
        return {"mean": train.x.mean(axis=0, dtype=np.float64).astype(np.float32)}
