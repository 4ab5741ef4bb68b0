"""Figures by class and by group: where an attacker reads more than overall."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from withhold.audit.findings import Slice
from withhold.audit.intervals import wilson
from withhold.records.attribute import Attribute

FEWEST = 20  # records that a slice needs to be called the worst, or to have a row in the report
_MOST = 200  # an attribute with more values does not define groups


def by_class(name: str, truth: Attribute, right: npt.NDArray[np.bool_]) -> tuple[Slice, ...]:
    """The recall of each class, in the order of the classes."""
    if truth.multilabel:
        return ()
    return _divide(name, truth.classes, truth.codes, right)


def by_group(
    others: Mapping[str, Attribute],
    right: npt.NDArray[np.bool_],
    truth: Attribute | None = None,
) -> tuple[Slice, ...]:
    """The accuracy for each value of the other attributes and of the group."""
    found: list[Slice] = []
    for name, other in others.items():
        if not other.multilabel and 2 <= len(other.classes) <= _MOST:
            found += _divide(name, other.classes, other.codes, right, truth)
    return tuple(found)


def worst(slices: tuple[Slice, ...], *, suppressed: bool) -> Slice | None:
    """The group in which a suppressed attribute is read best, or any other one worst.

    Groups are compared by the cautious end of the interval, since the best of many small groups is
    good by chance. For a suppressed attribute the majority of the group is subtracted, since a
    group in which nearly all are alike can be guessed without an attacker.
    """
    able = [s for s in slices if s.records >= FEWEST]
    if not able:
        return None
    return (
        max(able, key=lambda s: s.ci[0] - s.majority)
        if suppressed
        else min(able, key=lambda s: s.ci[1])
    )


def _divide(
    by: str,
    classes: tuple[str, ...],
    codes: npt.NDArray[np.int64],
    right: npt.NDArray[np.bool_],
    truth: Attribute | None = None,
) -> tuple[Slice, ...]:
    known = codes >= 0
    seen = np.bincount(codes[known], minlength=len(classes))
    hits = np.bincount(codes[known], weights=right[known], minlength=len(classes))
    return tuple(
        Slice(
            by=by,
            value=value,
            records=int(seen[i]),
            majority=_majority(truth, codes == i),
            accuracy=float(hits[i] / seen[i]),
            ci=wilson(hits[i], int(seen[i])),
        )
        for i, value in enumerate(classes)
        if seen[i]
    )


def _majority(truth: Attribute | None, rows: npt.NDArray[np.bool_]) -> float:
    return 0.0 if truth is None or truth.multilabel else truth.rows(rows).majority
