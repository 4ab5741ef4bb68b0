"""The cell of each record: its suppressed class and its preserved value.

A missing label is a class of its own: whether a label is missing may say something too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from withhold.core.errors import RecordError
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.cells import REST, as_one, joint
from withhold.methods.modifier import Labels
from withhold.records.attribute import Attribute

MISSING = "(missing)"


def complete(attribute: Attribute) -> Attribute:
    """The attribute as a categorical one in which a missing label is a class."""
    one = as_one(attribute)
    # A label that is spelled like MISSING must stay apart from the missing ones, in every batch.
    names = tuple(f"\\{c}" if c.lstrip("\\") == MISSING else c for c in one.classes)
    if (one.codes >= 0).all():
        return Attribute(one.name, "categorical", names, one.codes)
    codes = np.where(one.codes < 0, len(names), one.codes)
    return Attribute(one.name, "categorical", (*names, MISSING), codes)


def joint_names(attributes: Sequence[Attribute], n: int) -> tuple[tuple[str, ...], IntArray]:
    """Names of the joint values that occur, and the place of each record's value (n,)."""
    if not attributes:
        return (json.dumps([]),), np.zeros(n, np.int64)
    return joint([complete(a) for a in attributes])


def places(
    labels: Labels, columns: Sequence[str], known: Sequence[str], n: int
) -> tuple[IntArray, IntArray]:
    """The place of each record's joint value in `known` (n,), and whether it is there.

    Values that the fit did not see belong to the merged classes, if there are some.
    """
    names, codes = joint_names([labels[c] for c in columns], n)
    number = {name: i for i, name in enumerate(known)}
    rest = number.get(REST, -1)
    found = np.array([number.get(name, rest) for name in names], np.int64)[codes]
    return found, codes


def refuse_unknown(found: IntArray, columns: Sequence[str]) -> None:
    """Refuse records that belong to no cell of the fit: nothing was balanced for them."""
    if (found < 0).any():
        raise RecordError(
            int(np.argmax(found < 0)),
            f"has values of {', '.join(columns)} that the fit did not see together; release the"
            " records that were fitted, or fit these",
        )
