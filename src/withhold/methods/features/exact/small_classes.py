"""Classes of the suppressed attributes that are too small to be hidden by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from withhold.core.errors import UserError
from withhold.methods.features.codebook.cells import Classes
from withhold.records.attribute import Attribute, how_to_bin

MOST = 0.1  # share of the records that may be in merged classes
_NAMED = 3  # classes that a message names


def refuse_merged(
    classes: Classes, records: int, suppressed: Sequence[Attribute], *, smallest: int
) -> None:
    """Refuse classes of which so many are merged that the release would prove little.

    Records of merged classes are hidden among the others, but not from each other. If most records
    are there, as with a salary to the cent, the release would tell high from low salaries and still
    prove that no exact one can be guessed.
    """
    if classes.in_merged <= MOST * records:
        return
    names = ", ".join(f"'{a.name}'" for a in suppressed)
    many = max(suppressed, key=lambda a: len(a.classes))
    raise UserError(
        f"{classes.in_merged:,} of {records:,} records have a class of {names} that fewer than"
        f" {smallest} records have, so they would not be hidden from each other"
        f" ({len(many.classes):,} values of '{many.name}'); {how_to_bin(many.name, many.classes)}"
    )


def refuse_small(suppressed: Sequence[Attribute], *, fewest: int) -> None:
    """Refuse a value of a suppressed attribute that fewer than `fewest` records have.

    Only its owner knows whether it is a typing error, belongs to another class, or matters. Small
    combinations of several attributes are nobody's choice, so they are merged. A few missing labels
    are a class of their own, which the release says.
    """
    for attribute in suppressed:
        if attribute.multilabel:
            continue
        counts = attribute.counts
        small = np.flatnonzero((counts > 0) & (counts < fewest))
        if not len(small):
            continue
        way_out = (
            "merge them into another class, drop their records, or add --set smallest=1 to release"
            " them all the same (config={'smallest': 1} in Python): little of them is kept then"
        )
        if counts[small].sum() > MOST * len(attribute.codes):
            way_out = how_to_bin(attribute.name, attribute.classes)
        held = ", ".join(f"'{attribute.classes[i]}' in {counts[i]}" for i in small[:_NAMED])
        more = f" and {len(small) - _NAMED:,} more" if len(small) > _NAMED else ""
        raise UserError(
            f"values of '{attribute.name}' are in fewer than {fewest} of"
            f" {len(attribute.codes):,} records ({held}{more}), too few to hide among; {way_out}"
        )
