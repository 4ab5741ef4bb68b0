"""Attributes together: a column may tell nothing of each and all of whether they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from withhold.records.attribute import Attribute, combine
from withhold.records.columns.bins import looks
from withhold.records.columns.encode import EncodedColumn
from withhold.records.columns.exact import chance_of_squares

CLASSES = 100  # of a joint attribute that columns are measured against
PAIRS = 300  # pairs of labels that are tried


def with_joint(attributes: Sequence[Attribute]) -> list[Attribute]:
    """The attributes and, of several with one label each, all of them together."""
    single = [a for a in attributes if not a.multilabel]
    if len(single) < 2:
        return list(attributes)
    joint = combine(single)
    wanted = 1 < len(joint.classes) <= CLASSES
    return [*attributes, joint] if wanted else list(attributes)


def single_labels(attributes: Sequence[Attribute]) -> list[Attribute]:
    """Each attribute, of a multi-label one each label as an attribute of two classes."""
    found = []
    for a in attributes:
        if not a.multilabel:
            found.append(a)
            continue
        found += [
            Attribute(f"{a.name}.{label}", "categorical", ("0", "1"), a.codes[:, i])
            for i, label in enumerate(a.classes)
        ]
    return found


def tells_a_pair(
    encoded: EncodedColumn, attributes: Sequence[Attribute], level: float, *, seed: int = 0
) -> str | None:
    """Two attributes or labels that the column tells of together; None where there are none.

    The column, in bins and value by value, against the classes of each pair. The level is divided
    by the number of tests.
    """
    pairs = list(combinations(single_labels(attributes), 2))[:PAIRS]
    values = looks(encoded)
    each = level / max(len(pairs) * len(values), 1)
    for pair in pairs:
        joint = combine(pair)
        known = joint.known
        if len(joint.classes) < 2 or len(joint.classes) > CLASSES:
            continue
        for value in values:
            y = joint.codes[known]
            if chance_of_squares(value[known], y, level=each, seed=seed) < each:
                return joint.name
    return None
