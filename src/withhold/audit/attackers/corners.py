"""`corners`: a rule for the records at one end of one feature. Reads only a small group.

An attacker on all records does not learn a group of 1 %: the noise of the others hides it. This
one treats each end of each feature as a group of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import (
    Attacker,
    FittedAttacker,
    FloatArray,
    ViewName,
    log_shares,
)
from withhold.records.attribute import Attribute

_WIDEST = 128
_FEWEST = 12


@dataclass(frozen=True)
class Corners(Attacker):
    """For each class, find the end of a feature in which another feature predicts the class best.

    The ends are the `shares` highest and lowest values. Within an end of m records the score of a
    feature z is sqrt(m) times its correlation with the class. It is not on the ladder of an audit,
    because it predicts nothing for most records; only the search for slices uses it.
    """

    name: ClassVar[str] = "corners"
    view: ClassVar[ViewName] = "standard"
    shares: tuple[float, ...] = (0.01, 0.02, 0.05)
    rules: int = 1

    def fit(
        self,
        x: FloatArray,
        attribute: Attribute,
        x_val: FloatArray,
        attribute_val: Attribute,
        *,
        seed: int,
    ) -> CornersPrediction:
        """Try every end of every feature, on train and val together: each end has few records."""
        known, held = attribute.known, attribute_val.known
        x = np.concatenate([x[known], x_val[held]])[:, :_WIDEST]
        codes = np.concatenate([attribute.codes[known], attribute_val.codes[held]])
        shares = log_shares(attribute)
        found: list[tuple[float, _Rule]] = []
        common = np.argsort(-attribute.counts, kind="stable")[: 1 if len(shares) == 2 else 10]
        for q in self.shares:
            m = round(q * len(x))
            if m < _FEWEST:
                continue
            order = np.argpartition(x, (m, len(x) - m - 1), axis=0)
            for j in range(x.shape[1]):
                for side, rows in ((-1, order[:m, j]), (1, order[-m:, j])):
                    edge = float(x[rows, j].max() if side < 0 else x[rows, j].min())
                    found += _in_corner(x[rows], codes[rows], common, (j, side, edge))
        found.sort(key=lambda one: -one[0])
        return CornersPrediction(tuple(rule for _, rule in found[: self.rules]), shares)

    def cost(self, n: int, d: int, classes: int) -> float:
        """Small tables for each end."""
        return 0.05 + 1e-6 * min(d, _WIDEST) ** 2 + 1e-8 * n * d


@dataclass(frozen=True)
class _Rule:
    """Beyond `edge` of feature `j`: class `c` if feature `by` is on the `up` side of `at`."""

    j: int
    side: int
    edge: float
    by: int
    at: float
    up: bool
    c: int
    sure: float


@dataclass(frozen=True, eq=False)
class CornersPrediction(FittedAttacker):
    """Rules for a few records, and the class shares for all others."""

    rules: tuple[_Rule, ...]
    shares: FloatArray

    def logits(self, x: FloatArray) -> FloatArray:
        """Scores of each class, (n, k)."""
        out: FloatArray = np.tile(self.shares, (len(x), 1)).astype(np.float32)
        for rule in self.rules:
            inside = rule.side * x[:, rule.j] >= rule.side * rule.edge
            yes = (x[:, rule.by] > rule.at) == rule.up
            sign = np.where(inside & yes, 1.0, np.where(inside, -1.0, 0.0))
            distance = 1 + np.minimum(np.abs(x[:, rule.by] - rule.at), 2.0)
            out[:, rule.c] += (rule.sure * sign * distance).astype(np.float32)
        return out


def _in_corner(
    x: FloatArray,
    codes: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    end: tuple[int, int, float],
) -> list[tuple[float, _Rule]]:
    """The feature that correlates best with each class among the records of one end."""
    centre, spread = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    z = (x - centre) / spread
    found = []
    for c in classes:
        mine = (codes == c).astype(np.float32)
        p = float(mine.mean())
        if not 0 < p < 1:
            if p == 1 and len(classes) > 1:
                found.append((np.sqrt(len(x)), _Rule(*end, 0, -np.inf, True, int(c), 3.0)))
            continue
        correlation = (mine - p) @ z / (len(x) * np.sqrt(p * (1 - p)))
        by = int(np.argmax(np.abs(correlation)))
        score = float(np.sqrt(len(x)) * abs(correlation[by]))
        # Halfway between the mean of the class and the mean of the others.
        at = float(x[mine > 0, by].mean() + x[mine == 0, by].mean()) / 2
        up = bool(correlation[by] > 0)
        found.append((score, _Rule(*end, by, at, up, int(c), score / 3)))
    return found
