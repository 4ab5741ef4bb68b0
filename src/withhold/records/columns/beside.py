"""Columns that reveal something together with the released code, but nothing alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.exact import chance_of_squares
from withhold.records.columns.joint import single_labels
from withhold.records.columns.significance import chance_of_gain
from withhold.records.columns.tells import FEWEST, LEVEL

Codes = npt.NDArray[np.int64]
FOLDS = 3
WEIGHT = 4.0  # pseudo-records of P(class | code) in the estimate of P(class | code, value)


def tells_beside(
    code: Codes,
    encoded: Mapping[str, EncodedColumn],
    attributes: Sequence[Attribute],
    *,
    most: int = 200,
) -> dict[str, str]:
    """The columns that reveal more than the released code does: {column: attribute}.

    A certificate bounds what the code alone reveals. Suppose that gender is balanced within every
    code, but not among the records of a code that share an accent: then the accent reveals gender
    together with the code. This tests single columns (in bins and value by value) and pairs of the
    first `most` columns; for a pair, the second column is returned. Half of the level goes to the
    columns and half to the pairs. code: (n,).
    """
    found: dict[str, str] = {}
    labels = [a for a in single_labels(attributes) if a.known.sum() >= FEWEST]
    level = LEVEL / 2 / max(len(encoded) * len(labels), 1)
    for name, column in encoded.items():
        values = column.looks()
        # Two tests for each binning of the values.
        each = level / (2 * len(values))
        for a in labels:
            if any(_chance(code, v, a, each) < each for v in values):
                found[name] = a.name
                break
    left = {n: c.binned() for n, c in list(encoded.items())[:most] if n not in found}
    pairs = list(combinations(left, 2))
    level = LEVEL / 2 / max(len(pairs) * len(labels), 1)
    for one, two in pairs:
        if one in found or two in found:
            continue
        value = left[one] * (int(left[two].max(initial=0)) + 1) + left[two]
        for a in labels:
            known = a.known
            y = a.codes[known]
            if chance_of_squares(value[known], y, code[known], level=level) < level:
                found[two] = a.name
                break
    return found


def _chance(code: Codes, value: Codes, attribute: Attribute, level: float) -> float:
    """The smaller of two p-values: chi-squared within the codes, and a gain in log-probability."""
    known = attribute.known
    _, y = np.unique(attribute.codes[known], return_inverse=True)
    squares = chance_of_squares(value[known], y, code[known], level=level)
    return min(squares, _chance_of_gain(code[known], value[known], y))


def _chance_of_gain(code: Codes, value: Codes, y: Codes) -> float:
    """The p-value of the gain in log-probability of the class from (code, value) over code."""
    k = int(y.max(initial=0)) + 1
    _, pair = np.unique(np.stack([code, value], axis=1), axis=0, return_inverse=True)
    _, code = np.unique(code, return_inverse=True)
    pair, code = pair.reshape(-1), code.reshape(-1)
    rng = np.random.default_rng([0, 0xBE5])
    fold = np.empty(len(y), np.int64)
    fold[np.lexsort((rng.random(len(y)), y))] = np.arange(len(y)) % FOLDS
    gain = np.empty(len(y))
    for f in range(FOLDS):
        train, test = fold != f, np.flatnonzero(fold == f)
        prior = np.bincount(y[train], minlength=k) / train.sum()
        by_code = _given(code, y, train, k, prior[None, :])
        by_pair = _given(pair, y, train, k, by_code[_first(pair, code)])
        gain[test] = np.log(by_pair[pair[test], y[test]] / by_code[code[test], y[test]])
    return chance_of_gain(gain)


def _given(
    cell: Codes,
    y: Codes,
    train: npt.NDArray[np.bool_],
    k: int,
    prior: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """P(class | cell) for every cell, (cells, k), from the training records, shrunk to `prior`."""
    cells = int(cell.max(initial=-1)) + 1
    counts = np.bincount(cell[train] * k + y[train], minlength=cells * k).reshape(cells, k)
    p: npt.NDArray[np.float64] = (counts + WEIGHT * prior) / (
        counts.sum(axis=1, keepdims=True) + WEIGHT
    )
    return np.maximum(p, 1e-6)


def _first(pair: Codes, code: Codes) -> Codes:
    """The code of every pair, (pairs,)."""
    found = np.empty(int(pair.max(initial=-1)) + 1, np.int64)
    found[pair] = code
    return found
