"""`elimination`: an attacker who knows all other labels names the class that a code lacks.

A method that balances the classes among the records it was fitted on leaves a trace: without one
record, its own class is the one that is missing. For a record with code j, the residual

    r_s = c_s - n_s (m - 1) / (n - 1),      c_s = other records of class s with code j,

is the excess of class s over its share, where n_s counts the other records of class s, n all
records and m those with code j. The guess is the class with the least residual. Classes within a
quarter of a record of the least count as tied, and the commonest of them is named.

The same attack is run on groups of near codes (`certificate.code_levels`), where a value that each
class has equally often shows although single codes are drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import FloatArray, log_shares
from withhold.certificate.code_levels import code_levels
from withhold.records.attribute import Attribute
from withhold.records.feasibility import joint

Rows = npt.NDArray[np.int64]
_TIE = 0.25
_MOST_CLASSES = 200


def eliminate(x: FloatArray, attribute: Attribute) -> list[tuple[npt.NDArray[np.bool_], Rows]]:
    """Whether the guess is right for each labelled record of x: (n, d), and its unit; by level.

    The first level is single codes, the others are groups of codes, fine to coarse. Records of one
    code (or group) are right or wrong together, so intervals must count units, and whoever picks
    among levels must correct for it. Empty if the rows do not repeat or there are too many classes:
    then nothing is balanced by code.
    """
    codes = None if len(attribute.classes) > _MOST_CLASSES else codes_of(x)
    if codes is None:
        return []
    first = np.unique(codes, return_index=True)[1]
    levels = [codes, *(group[codes] for group in code_levels(x[first]))]
    found = []
    for i, group in enumerate(levels):
        right = by_code(group, attribute).argmax(axis=1) == attribute.codes
        found.append((right, group if i == 0 else _units(group, attribute)))
    return found


def eliminate_from(given: Sequence[Attribute], attribute: Attribute) -> float:
    """The accuracy of the same attacker with the preserved labels in place of the release."""
    if not given:
        return 0.0
    code = joint(given) + 1  # 0 where a label is missing
    return float((by_code(code, attribute).argmax(axis=1) == attribute.codes).mean())


def codes_of(x: FloatArray) -> Rows | None:
    """A number for each distinct row; None if rows repeat less than twice on average."""
    rows = np.ascontiguousarray(x).view([("", x.dtype)] * x.shape[1]).reshape(-1)
    _, codes = np.unique(rows, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    return codes if 2 * (codes.max(initial=0) + 1) <= len(x) else None


def by_code(codes: Rows, attribute: Attribute) -> FloatArray:
    """Scores (n, k): high for the class that the other records of the same code lack."""
    k, n = len(attribute.classes), len(codes)
    table = np.zeros((int(codes.max(initial=0)) + 1, k))
    np.add.at(table, (codes, attribute.codes), 1.0)
    own = np.zeros((n, k))
    own[np.arange(n), attribute.codes] = 1.0
    others = table[codes] - own
    expected = (table.sum(axis=0) - own) * ((others.sum(axis=1)) / max(n - 1, 1))[:, None]
    return _least(others - expected, attribute)


def _units(group: Rows, attribute: Attribute) -> Rows:
    """What intervals count: groups, or pairs of group and class where there are two classes.

    In every group at least one class is right. With two classes, both are right in a share q of the
    groups: the variance of a group is q (1 - q) / 4, and pairs counted as if they were independent
    give (1 - q^2) / 8, which is never less. With more classes they would give too little.
    """
    return 2 * group + attribute.codes if len(attribute.classes) == 2 else group


def _least(residual: npt.NDArray[np.float64], attribute: Attribute) -> FloatArray:
    """Scores that are highest for the least residual; ties go to the commonest class."""
    least = residual.min(axis=1, keepdims=True)
    tied = residual <= least + _TIE
    score = np.where(tied, 0.0, -(residual - least))
    found: FloatArray = (score + 1e-3 * np.exp(log_shares(attribute))).astype(np.float32)
    return found
