"""How much a column could reveal unnoticed, given the number of labels.

"Reveals nothing that could be measured" is only as good as the power of the measurement. Two limits
apply; a column beyond either one counts as not checked:

- All records: a two-valued column that raises the share of right guesses from p to p + GAIN must be
  found in four of five cases. The standard error of a share is sqrt(p (1 - p) / n), so a gain of
  (z(LEVEL) + z(1/5)) standard errors is found; with two equal classes that takes 172 labels.
- A rare class: if a class has fewer than RARE records, a value in half of them and in one of ten of
  all records is not significant at LEVEL. So a column is not checked if such a class has a value
  LIFT times as often as all records, in half of its records or with a p-value below DOUBTFUL.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.columns.column_encoding import OWN, EncodedColumn
from withhold.records.columns.exact import fisher

Codes = npt.NDArray[np.int64]
GAIN = 0.15
RARE, LIFT, DOUBTFUL = 12, 5.0, 0.01


def smallest_gain(labels: int, majority: float, level: float) -> float:
    """The gain in right guesses over the constant guess that is found in four of five cases."""
    from scipy.stats import norm

    needed = float(norm.isf(level) + norm.isf(0.2))
    return float(needed * np.sqrt(majority * (1 - majority) / max(labels, 1)))


def why_unchecked(
    encoded: EncodedColumn, y: Codes, name: str, level: float, most: float = GAIN
) -> str:
    """Why "reveals nothing" could be wrong, in words; empty if there is enough power.

    encoded, y: (n,) of the labelled records. most: the largest gain that may go unnoticed.
    """
    count = np.bincount(y)
    gain = smallest_gain(len(y), float(count.max() / len(y)), level)
    if gain > most:
        return (
            f"too few labels of '{name}' to check it: with {len(y)}, a column could reveal"
            f" {100 * gain:.0f} points more than guessing and not be noticed"
        )
    rare = np.flatnonzero((count > 0) & (count < RARE))
    if count[rare].sum() > len(y) / 2:
        return ""  # if most classes are small, the test on all records has enough power
    value = encoded.codes + 1 if encoded.distinct <= OWN else encoded.binned()
    common = np.bincount(value)
    for c in rare:
        values, inside = np.unique(value[y == c], return_counts=True)
        for v, k in zip(values, inside, strict=True):
            lift = k / count[c] * len(y) / common[v]
            if lift < LIFT:
                continue
            chance = fisher(int(k), int(common[v]), int(count[c]), len(y))
            if 2 * k >= count[c] or chance < DOUBTFUL:
                return (
                    f"could not be checked: {k} of {count[c]} records of one class of '{name}'"
                    f" have a value {lift:.0f} times as often as others, too few to be sure"
                )
    return ""
