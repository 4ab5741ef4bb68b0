"""`constant`: every record becomes the mean of the training data. What 0 % leakage looks like."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.channel import Channel
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.features.baselines.config import NoConfig
from withhold.methods.modifier import FloatArray, Labels, State
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class ConstantModifier(Channel):
    """x' = mean of the training part: a codebook of one code."""

    method = "constant"

    def __init__(self, mean: FloatArray, key: bytes) -> None:
        self.codes, self.key = mean[None], key

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        return np.ones((len(x), 1), np.float32)

    def state(self) -> State:
        """The mean."""
        return {"mean": self.codes[0]}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> ConstantModifier:
        """The modifier that was saved."""
        arrays = Arrays(state)
        checked_modifier(settings, StateSettings)
        made = cls(arrays.take("mean", "d"), key)
        arrays.close()
        return made


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
        return ConstantModifier(mean.astype(np.float32), journal.key)
