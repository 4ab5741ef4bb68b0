"""`identity`: the release is the original. The 100 % control."""

from __future__ import annotations

from typing import Any

import numpy as np

from withhold.core.errors import UserError
from withhold.methods.checked_state import MOST_FEATURES, Arrays, StateSettings, checked_modifier
from withhold.methods.features.baselines.baseline import Baseline
from withhold.methods.modifier import FeatureModifier, FloatArray, Labels, State
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class IdentityModifier(FeatureModifier):
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
        arrays = Arrays(state)
        checked_modifier(settings, StateSettings)
        dimension = arrays.take_any("dimension", 1)
        arrays.close()
        if dimension.dtype != np.int64 or not 0 < dimension[0] <= MOST_FEATURES:
            raise UserError(
                f"array 'dimension' of the modifier is {dimension[0]}, which cannot be a number"
                " of features; restore the bundle, or fit again"
            )
        return cls(int(dimension[0]), key)


@method
class Identity(Baseline):
    """The fitter."""

    name = "identity"
    modifier_type = IdentityModifier

    def measure(self, train: Dataset, roles: Roles, config: Any, seed: int) -> dict[str, Any]:
        """The number of features; nothing else is learned."""
        return {"dimension": train.dimension}
