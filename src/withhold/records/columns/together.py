"""Columns that reveal something only together, such as two flags whose XOR is the secret."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.tells import COMBINATION, LEVEL, Telling, how_well_it_tells

Codes = npt.NDArray[np.int64]
SETS = 400  # up to this many combinations of columns are all cross-fitted
PAIRS, TRIPLES = 50_000, 20_000  # most combinations to try
WORK = 5e9  # most cells and records to count for the combinations of one size
FULL = 5  # records per cell needed to join columns by their own values
SCREEN = 0.01  # of more than SETS, only those with such a p-value of chi-squared are cross-fitted


def tells_together(
    encoded: Mapping[str, EncodedColumn],
    attributes: Sequence[Attribute],
    alone: Mapping[str, float],
) -> dict[str, Telling | None]:
    """The columns to leave out so that the others reveal nothing together: {column: what it added}.

    This tests all pairs, all triples if there are few (values joined; many values in six bins by
    rank and, with enough records, value by value), and all columns at once (every encoded part,
    with trees and a linear model). From a set that reveals something, the column that reveals most
    alone is left out, and the rest is tested again.
    The pairs, the triples and the whole get a third of the level each, divided by their number.
    If there are too many pairs to try, the last columns are left out with None.
    alone: {column: the p-value of what it reveals alone}.
    """
    allowed = columns_to_pair(encoded, attributes)
    out: dict[str, Telling | None] = dict.fromkeys(list(encoded)[allowed:])
    left = {n: c for n, c in encoded.items() if n not in out}

    def leave_out(names: Iterable[str], told: Telling) -> None:
        worst = min(names, key=lambda n: alone.get(n, 1.0))
        out[worst] = told
        del left[worst]

    for names, told in telling_sets(left, attributes):
        leave_out(names, told)
    while len(left) > 1:
        whole = _worst(_stacked(list(left.values())), attributes, seed=0)
        if whole is None or whole.chance >= LEVEL / 3:
            break
        leave_out(left, whole)
    return out


def telling_sets(
    left: Mapping[str, EncodedColumn], attributes: Sequence[Attribute], *, seed: int = 0
) -> Iterator[tuple[tuple[str, ...], Telling]]:
    """The pairs and, if there are few, triples of columns that reveal something.

    The caller may remove columns from `left` while iterating; later sets do not contain them.
    """
    bins = {n: c.binned() for n, c in left.items()}
    labels = _labels(attributes)
    for size, most in ((2, PAIRS), (3, TRIPLES)):
        tried = comb(len(left), size)
        if size == 3 and (tried > most or tried * _cost(bins, labels, 3) > WORK):
            return
        for names in combinations(list(left), size):
            if not set(names) <= set(left):
                continue
            for codes in _views(names, left, bins):
                if tried > SETS and not any(dependent(codes, y, SCREEN) for y in labels):
                    continue
                told = _worst(_joined(codes), attributes, seed)
                if told is not None and told.chance < LEVEL / 3 / tried / 2:
                    yield names, told
                    break


def _views(
    names: Sequence[str], columns: Mapping[str, EncodedColumn], bins: Mapping[str, Codes]
) -> Iterator[list[Codes]]:
    """The columns in bins and, if there are enough records to fill the cells, by their values."""
    coarse = [bins[n] for n in names]
    yield coarse
    fine = [columns[n].looks()[-1] for n in names]
    cells = np.prod([int(f.max(initial=0)) + 1 for f in fine])
    if cells * FULL <= len(fine[0]) and any(
        f.max(initial=0) != c.max(initial=0) for f, c in zip(fine, coarse, strict=True)
    ):
        yield fine


def columns_to_pair(encoded: Mapping[str, EncodedColumn], attributes: Sequence[Attribute]) -> int:
    """How many columns can be tested pair by pair within the limits."""
    bins = {n: c.binned() for n, c in encoded.items()}
    most = min(PAIRS, WORK / max(_cost(bins, _labels(attributes), 2), 1))
    return int((1 + np.sqrt(1 + 8 * most)) // 2)


def _labels(attributes: Sequence[Attribute]) -> list[Codes]:
    return [y for a in attributes for y in (a.codes.T if a.multilabel else [a.codes])]


def _cost(bins: Mapping[str, Codes], labels: Sequence[Codes], size: int) -> float:
    """Roughly the records and cells to count for one combination."""
    values = np.sort([int(b.max(initial=0)) + 1 for b in bins.values()])[-size:]
    classes = [int(y.max(initial=0)) + 1 for y in labels]
    return float(sum(len(y) + np.prod(values) * k for y, k in zip(labels, classes, strict=True)))


def dependent(codes: Sequence[Codes], y: Codes, level: float) -> bool:
    """Whether Pearson's chi-squared of the joined values and the classes has a p-value < level."""
    from scipy.special import chdtrc

    joint = np.zeros_like(codes[0])
    for code in codes:
        joint = joint * (int(code.max(initial=0)) + 1) + code
    known = y >= 0
    joint, y = (joint, y) if known.all() else (joint[known], y[known])
    if not len(y):
        return False
    k, cells = int(y.max()) + 1, int(joint.max()) + 1
    counts = np.bincount(joint * k + y, minlength=cells * k).reshape(cells, k)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    counts, rows = counts[rows > 0][:, columns > 0], rows[rows > 0]
    columns = columns[columns > 0]
    expected = rows[:, None] * (columns / len(y))
    freedom = (len(rows) - 1) * (len(columns) - 1)
    squared = float((np.square(counts) / expected).sum() - len(y))
    return freedom > 0 and bool(chdtrc(freedom, squared) < level)


def _worst(encoded: EncodedColumn, attributes: Sequence[Attribute], seed: int) -> Telling | None:
    found = [how_well_it_tells(encoded, a, seed=seed) for a in attributes]
    known = [t for t in found if t.checked]
    return min(known, key=lambda t: t.chance) if known else None


def _joined(codes: Sequence[Codes]) -> EncodedColumn:
    """One column whose values are the combinations of values."""
    _, joint = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    joint = joint.reshape(-1).astype(np.int64)
    return EncodedColumn(joint[:, None].astype(np.float32), COMBINATION, joint)


def _stacked(columns: Sequence[EncodedColumn]) -> EncodedColumn:
    """All encoded parts of all columns, and the combination of all values."""
    joint = _joined([c.codes for c in columns]).codes
    return EncodedColumn(np.concatenate([c.x for c in columns], axis=1), "together", joint)
