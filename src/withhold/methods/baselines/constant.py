"""`constant`: every record becomes the mean of the training data. What 0 % leakage looks like."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from withhold.dataset import Dataset
from withhold.methods.baselines.config import NoConfig
from withhold.methods.journal import Journal
from withhold.methods.modifier import FloatArray, Modifier, State
from withhold.methods.registry import method
from withhold.progress import Progress
from withhold.roles import Roles


class ConstantModifier(Modifier):
    """x' = mean, (d,)."""

    method = "constant"

    def __init__(self, mean: FloatArray) -> None:
        self.mean = mean

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.mean)

    def _transform(self, x: FloatArray) -> FloatArray:
        return np.broadcast_to(self.mean, x.shape).copy()

    def state(self) -> State:
        """The mean."""
        return {"mean": self.mean}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any]) -> ConstantModifier:
        """The modifier that was saved."""
        return cls(state["mean"])


@method
class Constant:
    """The fitter."""

    name = "constant"
    config_type = NoConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = ConstantModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: NoConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> ConstantModifier:
        """The mean of the training part."""
        mean = dataset.part("train").x.mean(axis=0, dtype=np.float64)
        return ConstantModifier(mean.astype(np.float32))
