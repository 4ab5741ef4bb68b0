"""Columns that tell nothing each and something together, as two flags do whose XOR is a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from withhold.attribute import Attribute
from withhold.columns.encode import EncodedColumn
from withhold.columns.tells import COMBINATION, LEVEL, Telling, how_well_it_tells

Codes = npt.NDArray[np.int64]
SETS = 400  # combinations of columns of one size that are tried at most
BINS = 6  # of a column of many values, in combinations


def tells_together(
    encoded: Mapping[str, EncodedColumn],
    attributes: Sequence[Attribute],
    alone: Mapping[str, float],
    *,
    seed: int = 0,
) -> dict[str, Telling]:
    """The columns to leave out so that the others tell nothing together: {column: what it added}.

    Tried are all pairs and, while there are few, all triples (values joined; many values in six
    bins by rank), and all columns at once (every encoded part, with trees and a linear model). From
    a set that tells, the column that tells most alone is left out, and the rest is tried again.
    The level is divided by the number of sets. alone: {column: the chance of what it tells alone}.
    """
    left, out = dict(encoded), {}
    sets: list[tuple[str, ...]] = []
    for size in (2, 3):
        if size == 2 or comb(len(left), size) <= SETS:
            sets += list(combinations(left, size))[:SETS]
    bins = {n: binned(c) for n, c in left.items()}
    level = LEVEL / max(len(sets) + 1, 1)
    for names in sets:
        if not set(names) <= set(left):
            continue
        joined = _joined([bins[n] for n in names])
        told = _worst(joined, attributes, seed)
        if told is not None and told.chance < level:
            worst = min(names, key=lambda n: alone.get(n, 1.0))
            out[worst] = told
            del left[worst]
    while len(left) > 1:
        told = _worst(_stacked(list(left.values())), attributes, seed)
        if told is None or told.chance >= level:
            break
        worst = min(left, key=lambda n: alone.get(n, 1.0))
        out[worst] = told
        del left[worst]
    return out


def _worst(encoded: EncodedColumn, attributes: Sequence[Attribute], seed: int) -> Telling | None:
    found = [how_well_it_tells(encoded, a, seed=seed) for a in attributes]
    known = [t for t in found if t.checked]
    return min(known, key=lambda t: t.chance) if known else None


def binned(encoded: EncodedColumn) -> Codes:
    """Codes of a few values, or of bins by the place in sorted order; missing is a value."""
    if encoded.distinct <= 3 * BINS:
        return encoded.codes + 1
    ordered = np.sort(encoded.codes[encoded.codes >= 0])
    edges = ordered[(np.arange(1, BINS) * len(ordered)) // BINS]
    place: Codes = np.searchsorted(edges, encoded.codes, side="right") + 1
    return np.where(encoded.codes >= 0, place, 0)


def _joined(codes: Sequence[Codes]) -> EncodedColumn:
    """One column whose values are the combinations of values."""
    _, joint = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    joint = joint.reshape(-1).astype(np.int64)
    return EncodedColumn(joint[:, None].astype(np.float32), COMBINATION, joint)


def _stacked(columns: Sequence[EncodedColumn]) -> EncodedColumn:
    """Every encoded part of all columns, and the combination of all values."""
    joint = _joined([c.codes for c in columns]).codes
    return EncodedColumn(np.concatenate([c.x for c in columns], axis=1), "together", joint)
