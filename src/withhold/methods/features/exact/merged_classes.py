"""Secrets with so many values that most records would not be hidden from each other."""

from __future__ import annotations

from collections.abc import Sequence

from withhold.core.errors import UserError
from withhold.methods.features.codebook.cells import Classes
from withhold.records.attribute import Attribute, how_to_bin

MOST = 0.1  # share of the records that may be in merged classes


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
