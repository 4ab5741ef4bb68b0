"""Cells: the joint classes of the suppressed attributes, separately for each preserved value.

The channel is to be balanced over the classes s of the suppressed attributes among records of the
same preserved value u: J independent of S given U. A *cell* is one pair (s, u) that occurs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from withhold.methods.channel import IntArray
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

_FEW = 1_000_000  # combinations of classes that are counted in a table
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
    sizes = [max(len(a.classes), 1) for a in parts]
    if prod(sizes) > _FEW:
        found, codes = _sorted([a.codes for a in parts])
    else:
        found, codes = _counted([a.codes for a in parts], sizes)
    names = (
        json.dumps([a.classes[c] for a, c in zip(parts, row, strict=True)], ensure_ascii=False)
        for row in found
    )
    return tuple(names), codes


def _sorted(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """The combinations that occur (K, k) in order, and the place of each record's (n,), or -1."""
    stacked = np.stack(columns, axis=1)
    known = (stacked >= 0).all(axis=1)
    codes = np.full(len(stacked), -1, np.int64)
    found, place = np.unique(stacked[known], axis=0, return_inverse=True)
    codes[known] = place.reshape(-1)
    return found, codes


def _counted(columns: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The same without sorting the records, where few combinations are possible."""
    key, known = columns[0], columns[0] >= 0
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        key, known = key * size + column, known & (column >= 0)
    occurs = np.bincount(key[known], minlength=1) > 0
    place = np.append(np.where(occurs, np.cumsum(occurs) - 1, -1), -1)  # the last is for unknown
    codes: IntArray = place[key] if known.all() else place[np.where(known, key, -1)]
    found = np.stack(np.unravel_index(np.flatnonzero(occurs), sizes), axis=1)
    return found, codes


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
