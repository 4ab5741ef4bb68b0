"""Groups (people) as the units of a bound, if they can be counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.bundle.bundle import Bundle
from withhold.certificate.claims import NoGroupClaim
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each labelled record as 0..G-1 (-1: no label), and the weight of the record.

    A record weighs 1 / (labelled records of its group), so that a group weighs 1.
    """

    column: str
    count: int
    weights: npt.NDArray[np.float64]


def groups_of(held: Dataset, attribute: Attribute, bundle: Bundle) -> Groups | NoGroupClaim:
    """The groups as units, or the reason why they cannot be units."""
    if held.group is None:
        return NoGroupClaim(reason="no group was named; name the column with --group")
    codes, known = held.group_codes, attribute.codes >= 0
    assert codes is not None
    person = _alone(attribute.codes[known], codes[known])
    reason = _no_groups(held, bundle)
    if reason is not None:
        # If the class is the person, the question is about records of these very people.
        return NoGroupClaim(reason=reason, records_apply=person)
    if person:
        return NoGroupClaim(
            reason=f"every class of '{attribute.name}' is in one '{held.group}' only, so these"
            f" records say nothing about a new '{held.group}'"
        )
    sizes = np.bincount(codes[known], minlength=int(codes.max(initial=0)) + 1)
    weights = np.where(known, 1 / np.maximum(sizes[codes], 1), 0.0)
    return Groups(held.group, int((sizes > 0).sum()), weights)


def _no_groups(held: Dataset, bundle: Bundle) -> str | None:
    """A reason that holds for every attribute."""
    fitted = bundle.input["group"]
    if fitted != held.group or bundle.membership is None:
        other = "no group" if fitted is None else f"'{fitted}'"
        return (
            f"the fit was given {other} and not '{held.group}' as group, so it is not known"
            " which groups it saw; fit again with that --group"
        )
    seen = bundle.membership.seen_groups(held)
    if seen:
        return (
            f"{seen:,} '{held.group}' of these records were in the fit already; split by"
            f" '{held.group}', or certify on others"
        )
    return None


def _alone(classes: IntArray, groups: IntArray) -> bool:
    """Whether each class occurs in one group only."""
    pairs = np.unique(np.stack([classes, groups], axis=1), axis=0)
    return len(pairs) == len(np.unique(pairs[:, 0]))
