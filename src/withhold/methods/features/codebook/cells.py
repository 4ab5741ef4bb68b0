"""Cells: the joint classes of the suppressed attributes, separately for each preserved value.

The channel is to be balanced over the classes s of the suppressed attributes among records of the
same preserved value u: J independent of S given U. A *cell* is one pair (s, u) that occurs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from withhold.methods.channel import IntArray
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

REST = "(rest)"  # not a JSON list, so no class has this name


@dataclass(frozen=True, eq=False)
class Classes:
    """One class per record: codes (n,), -1 where a label is missing; the last may be `REST`."""

    names: tuple[str, ...]
    codes: IntArray
    merged: int = 0
    in_merged: int = 0  # records

    def of(self, dataset: Dataset, attributes: Sequence[str]) -> IntArray:
        """The class of each record of another dataset, (n,); -1 if it is none of these."""
        names, codes = joint([dataset.attribute(n) for n in attributes])
        number = {name: i for i, name in enumerate(self.names)}
        place = np.array([*(number.get(n, number.get(REST, -1)) for n in names), -1], np.int64)
        return place[codes]


@dataclass(frozen=True, eq=False)
class Cells:
    """cell (n,) of each record, and the preserved value of each cell (C,)."""

    cell: IntArray
    preserved: IntArray


def as_one(attribute: Attribute) -> Attribute:
    """A multi-label attribute as a categorical one, with a class for each set of labels."""
    if not attribute.multilabel:
        return attribute
    # A batch in which no record has a tag has no columns, and so no known set of labels.
    known = np.asarray((attribute.codes >= 0).all(axis=1)) & bool(attribute.classes)
    codes = np.full(len(attribute.codes), -1, np.int64)
    sets, place = np.unique(attribute.codes[known], axis=0, return_inverse=True)
    codes[known] = place.reshape(-1)
    # A JSON list, as in `joint`: no two sets share a name.
    labels = np.asarray(attribute.classes, dtype=object)
    names = tuple(json.dumps(list(labels[row == 1]), ensure_ascii=False) for row in sets)
    return Attribute(attribute.name, "categorical", names, codes)


def joint(attributes: Sequence[Attribute]) -> tuple[tuple[str, ...], IntArray]:
    """Names and codes (n,) of the joint classes.

    A name is a JSON list with one text for each attribute, so no two combinations share a name.
    """
    parts = [as_one(a) for a in attributes]
    stacked = np.stack([a.codes for a in parts], axis=1)
    known = (stacked >= 0).all(axis=1)
    codes = np.full(len(stacked), -1, np.int64)
    found, place = np.unique(stacked[known], axis=0, return_inverse=True)
    codes[known] = place.reshape(-1)
    names = (
        json.dumps([a.classes[c] for a, c in zip(parts, row, strict=True)], ensure_ascii=False)
        for row in found
    )
    return tuple(names), codes


def joint_classes(attributes: Sequence[Attribute], smallest: int = 1) -> Classes:
    """The joint classes of several attributes. Classes with fewer than `smallest` records are
    merged, unless fewer than two classes would remain."""
    names, codes = joint(attributes)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    large = counts >= smallest
    if large.sum() < 2 or large.all():
        return Classes(names, codes)
    place = np.full(len(counts) + 1, -1, np.int64)  # the last entry is for -1, the missing
    place[:-1] = np.where(large, np.cumsum(large) - 1, large.sum())
    kept = [n for n, is_large in zip(names, large, strict=True) if is_large]
    return Classes((*kept, REST), place[codes], int((~large).sum()), int(counts[~large].sum()))


def cells_of(suppressed: IntArray, preserved: IntArray, fewest: int) -> Cells:
    """The pairs that occur. Pairs with fewer than `fewest` records are too small to be balanced:
    those with the same preserved value share one cell."""
    values = int(preserved.max(initial=0)) + 1
    classes = int(suppressed.max(initial=0)) + 1
    pair = suppressed * values + preserved
    few = np.bincount(pair, minlength=classes * values) < fewest
    pair = np.where(few[pair], classes * values + preserved, pair)
    found, cell = np.unique(pair, return_inverse=True)
    return Cells(cell.reshape(-1), found % values)
