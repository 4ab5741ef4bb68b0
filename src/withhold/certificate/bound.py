"""An upper confidence bound on the best attacker there can be, from one table of probabilities.

A channel W(j | x) releases one of N codes. Any attacker is a rule g from codes to classes, and is
right with probability

    B_g = sum_j P(J = j, S = g(j)) <= B = sum_j max_s P(J = j, S = s).

From m independent units (X_i, S_i) that the channel was fixed before: with
P^(j, s) = 1/m sum_i 1[S_i = s] W(j | X_i), the plug-in B^ = sum_j max_s P^(j, s).

Why B^ bounds B from above: let g* be the rule with B_g* = B, which the population fixes and no
sample changes. B^ is the best of all rules on the sample, so B^ >= B^_g*, and B^_g* is the mean of
m independent numbers sum_j W(j | X_i) 1[S_i = g*(j)] in [0, 1] with mean B. So B^ falls far below
B no more often than such a mean does (and E B^ >= B, which is also Jensen's inequality for max).
Three bounds follow, each P(B^ < u(B)) <= delta for a threshold u that B alone decides:

- McDiarmid: one unit moves B^ by at most 1/m, so P(B^ <= B - t) <= exp(-2 m t^2);
- self-bounding: Z = m B^ has 0 <= Z - Z^(i) <= 1 and sum_i (Z - Z^(i)) <= Z, where Z^(i) leaves
  unit i out, so P(Z <= EZ - t) <= exp(-t^2 / (2 EZ)) (Boucheron, Lugosi, Massart 2000, 2009);
- Chernoff: of a mean in [0, 1], P(B^_g* <= p) <= exp(-m kl(p, B)) (Hoeffding 1963, Theorem 1). As
  kl(p, q) >= max(2 (q - p)^2, (q - p)^2 / (2 q)), it is never above the other two.

The smallest of them holds with the whole confidence, not with a third of it: B lies above the
smallest exactly where B^ lies below the highest of the thresholds u(B), and which one that is
depends on B and not on the sample, so it is one event of probability at most delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, log, log1p, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]  # (K, N): sums over units of 1[S_i = s] W(j | X_i)
By = Literal["Chernoff", "self-bounding", "McDiarmid"]


@dataclass(frozen=True)
class Bound:
    """B is at most `value`, and which inequality says so."""

    value: float
    by: By


class Tally:
    """table[s, j] = sum_i weight_i 1[S_i = s, J_i = j]: (K, N), float64.

    The draws J_i are counted, not the probabilities W(j | X_i): equal records share one keyed
    draw, so the channel that leaves is the one that the key fixed.
    """

    def __init__(self, classes: int, codes: int) -> None:
        self.table: Table = np.zeros((classes, codes))

    def add(
        self,
        drawn: npt.NDArray[np.int64],
        classes: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float64] | None = None,
    ) -> None:
        """Records with codes (n,) and classes (n,); those of class -1 are left out."""
        known = classes >= 0
        amount = 1.0 if weights is None else weights[known]
        np.add.at(self.table, (classes[known], drawn[known]), amount)


def plug_in(table: Table, units: int) -> float:
    """B^ = sum_j max_s P^(j, s) from summed probabilities, (K, N)."""
    return float(min(table.max(axis=0).sum() / units, 1.0))


def upper_bound(found: float, units: int, confidence: float) -> Bound:
    """The smallest of the three bounds on B where the plug-in is `found`."""
    bounds: dict[By, float] = {
        "Chernoff": chernoff(found, units, confidence),
        "self-bounding": self_bounding(found, units, confidence),
        "McDiarmid": mcdiarmid(found, units, confidence),
    }
    by = min(bounds, key=bounds.__getitem__)
    return Bound(bounds[by], by)


def mcdiarmid(found: float, units: int, confidence: float) -> float:
    """B^ + sqrt(ln(1/delta) / 2m), at most 1."""
    return min(found + sqrt(surprise(confidence) / (2 * units)), 1.0)


def self_bounding(found: float, units: int, confidence: float) -> float:
    """(Z + L + sqrt(L^2 + 2 L Z)) / m with Z = m B^ and L = ln(1/delta), at most 1.

    The larger root v of (v - Z)^2 = 2 L v: beyond it, Z is too far below v to be believed.
    """
    z, least = units * found, surprise(confidence)
    return min((z + least + sqrt(least * least + 2 * least * z)) / units, 1.0)


def chernoff(found: float, units: int, confidence: float) -> float:
    """The largest v with m kl(B^, v) <= ln(1/delta)."""
    allowed = surprise(confidence) / units
    if found >= 1:
        return 1.0
    if found <= 0:
        return -expm1(-allowed)  # kl(0, v) = -ln(1 - v)
    low, high = found, 1.0
    # Halved until the two are neighbours; the upper end is returned, so rounding is on our side.
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _kl(found, middle) <= allowed else (low, middle)
    return high


def surprise(confidence: float) -> float:
    """ln(1/delta): how unlikely an excuse must be before it is not believed."""
    return -log1p(-confidence)


def _kl(p: float, q: float) -> float:
    """kl(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)), for 0 < p < 1."""
    return float("inf") if q >= 1 else p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
