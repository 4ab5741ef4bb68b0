"""Columns that tell something beside the released code, though they tell nothing alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from withhold.records.attribute import Attribute
from withhold.records.columns.bins import binned
from withhold.records.columns.encode import EncodedColumn
from withhold.records.columns.significance import chance_of_gain
from withhold.records.columns.tells import FEWEST, LEVEL

Codes = npt.NDArray[np.int64]
FOLDS = 3
WEIGHT = 4.0  # records that P(class | code) counts for in P(class | code, value)


def tells_beside(
    code: Codes,
    encoded: Mapping[str, EncodedColumn],
    attributes: Sequence[Attribute],
    *,
    seed: int = 0,
) -> dict[str, str]:
    """The columns that add to what the released code tells: {column: attribute}.

    A certificate bounds what the code alone tells. Where gender is balanced within every code, but
    not within the records of a code that share an accent, the accent beside the code tells.
    code: (n,). The level is divided by the number of columns and attributes.
    """
    found: dict[str, str] = {}
    labels = [part for a in attributes for part in _parts(a)]
    level = LEVEL / max(len(encoded) * len(labels), 1)
    for name, column in encoded.items():
        for attribute in labels:
            if _chance(code, binned(column), attribute, seed) < level:
                found[name] = attribute.name
                break
    return found


def _parts(attribute: Attribute) -> list[Attribute]:
    if not attribute.multilabel:
        return [attribute]
    return [
        Attribute(attribute.name, "categorical", ("0", "1"), attribute.codes[:, i])
        for i in range(len(attribute.classes))
    ]


def _chance(code: Codes, value: Codes, attribute: Attribute, seed: int) -> float:
    """The chance of the gain in log-probability of the class that (code, value) has over code."""
    known = attribute.known
    if known.sum() < FEWEST:
        return 1.0
    classes, y = np.unique(attribute.codes[known], return_inverse=True)
    code, value, k = code[known], value[known], len(classes)
    _, pair = np.unique(np.stack([code, value], axis=1), axis=0, return_inverse=True)
    _, code = np.unique(code, return_inverse=True)
    pair, code = pair.reshape(-1), code.reshape(-1)
    rng = np.random.default_rng([seed, 0xBE5])
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
