"""`identity`: the release is the original. What 100 % leakage looks like."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from withhold.dataset import Dataset
from withhold.methods.baselines.config import NoConfig
from withhold.methods.journal import Journal
from withhold.methods.modifier import FloatArray, Labels, Modifier, State
from withhold.methods.registry import method
from withhold.progress import Progress
from withhold.roles import Roles


class IdentityModifier(Modifier):
    """x' = x."""

    method = "identity"

    def __init__(self, dimension: int, key: bytes) -> None:
        self._dimension, self.key = dimension, key

    @property
    def dimension(self) -> int:
        """Features per record."""
        return self._dimension

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        return x.copy()

    def state(self) -> State:
        """One number: the dimension."""
        return {"dimension": np.asarray([self._dimension], np.int64)}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> IdentityModifier:
        """The modifier that was saved."""
        return cls(int(state["dimension"][0]), key)


@method
class Identity:
    """The fitter."""

    name = "identity"
    config_type = NoConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = IdentityModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: NoConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> IdentityModifier:
        """Nothing is learned."""
        return IdentityModifier(dataset.dimension, journal.key)
