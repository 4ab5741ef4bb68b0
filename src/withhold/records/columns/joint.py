"""Attributes jointly: a column may reveal neither of two, but whether they are equal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from withhold.records.attribute import Attribute, combine
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.exact import chance_of_squares

CLASSES = 100  # a joint attribute with more classes is not tested
PAIRS = 300  # pairs of labels that are tested


def with_joint(attributes: Sequence[Attribute]) -> list[Attribute]:
    """The attributes and, if several are categorical, their joint attribute."""
    single = [a for a in attributes if not a.multilabel]
    if len(single) < 2:
        return list(attributes)
    joint = combine(single)
    wanted = 1 < len(joint.classes) <= CLASSES
    return [*attributes, joint] if wanted else list(attributes)


def single_labels(attributes: Sequence[Attribute]) -> list[Attribute]:
    """Categorical attributes, and each label of multi-label ones as an attribute of two classes."""
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
    encoded: EncodedColumn, attributes: Sequence[Attribute], level: float
) -> str | None:
    """The first pair of attributes or labels that the column reveals jointly, or None.

    Tests the column, in bins and value by value, against the classes of each pair. The level is
    divided by the number of tests.
    """
    pairs = list(combinations(single_labels(attributes), 2))[:PAIRS]
    values = encoded.looks()
    each = level / max(len(pairs) * len(values), 1)
    for pair in pairs:
        joint = combine(pair)
        known = joint.known
        if len(joint.classes) < 2 or len(joint.classes) > CLASSES:
            continue
        for value in values:
            y = joint.codes[known]
            if chance_of_squares(value[known], y, level=each) < each:
                return joint.name
    return None
