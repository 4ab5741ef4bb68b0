"""The interface of an attacker."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from withhold.attribute import Attribute
from withhold.progress import Progress

FloatArray = npt.NDArray[np.float32]


class Prediction(Protocol):
    """A fitted attacker."""

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k), for features (n, d)."""


class Attacker(Protocol):
    """Learns an attribute on train, is chosen on val; never sees test."""

    name: ClassVar[str]

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
        progress: Progress,
    ) -> Prediction:
        """Fit on (x, attribute); missing labels are masked."""
