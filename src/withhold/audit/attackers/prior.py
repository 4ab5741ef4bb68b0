"""`prior`: the commonest class for every record. What anybody can guess without the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    ViewName,
    attacker,
    log_shares,
)
from withhold.records.attribute import Attribute


@attacker
@dataclass(frozen=True)
class Prior(Attacker):
    """log P(s), counted on train."""

    name: ClassVar[str] = "prior"
    view: ClassVar[ViewName] = "reduced"

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> PriorPrediction:
        """Count the classes."""
        return PriorPrediction(log_shares(attribute))

    def cost(self, n: int, d: int, classes: int) -> float:
        """Negligible."""
        return 0.01


@dataclass(frozen=True, eq=False)
class PriorPrediction(FittedAttacker):
    """The same answer for every record."""

    shares: FloatArray  # (k,)

    def logits(self, x: FloatArray) -> FloatArray:
        """The shares, (n, k)."""
        return np.broadcast_to(self.shares, (len(x), len(self.shares))).copy()
