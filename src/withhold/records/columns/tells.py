"""How well one column reveals an attribute: a cross-fitted guess from that column alone."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import BINS, FREQUENT, EncodedColumn, encode_column
from withhold.records.columns.exact import chance_of_cells
from withhold.records.columns.guess import (
    Guesser,
    boosted_trees,
    frequency_table,
    linear_discriminant,
)
from withhold.records.columns.power import GAIN, why_unchecked
from withhold.records.columns.significance import chance_of_gain, lower_limit

Codes = npt.NDArray[np.int64]
LEVEL = 0.001  # rate of false alarms for columns that reveal nothing
FEWEST = 50  # with fewer labelled records, no verdict is possible
MOST = 20_000  # records passed to the trees and the linear model
FOLDS = 3
COMBINATION = "combination"  # the kind of joined columns, whose values have no order


@dataclass(frozen=True)
class Telling:
    """What a guess of an attribute from one column achieves on records it was not trained on.

    accuracy: of the best model tried; majority: of the best constant guess; lower: a lower
    confidence limit of the accuracy at 1 - LEVEL; bits: the mean gain in log2 probability of the
    true class over the prior (often negative if the column reveals nothing); chance: the p-value.
    `tells` is True if accuracy or bits exceed those of the prior by more than happens by chance in
    one of 1,000 columns that reveal nothing; None if there are too few labels. `doubt` says why a
    column may reveal something although nothing was found.
    """

    attribute: str
    accuracy: float
    majority: float
    lower: float
    bits: float
    chance: float
    tells: bool | None
    by: str = ""
    doubt: str = ""

    @property
    def checked(self) -> bool:
        """Whether there were enough labels for a verdict."""
        return self.tells is not None


def how_well_it_tells(
    encoded: EncodedColumn,
    attribute: Attribute,
    *,
    groups: npt.NDArray[np.int64] | None = None,
    gain: float = GAIN,
    seed: int = 0,
) -> Telling:
    """Guess `attribute` from the column, on held-out records (with `groups`: held-out groups).

    Fisher's exact test of each value and class finds rare classes. In addition, two statistics of
    up to three models decide. The first compares how many records only the model guesses right
    with how many only the constant guess does. The second is the gain in log-probability, which
    also sees a column that shifts the odds without changing the best guess. With `groups`, the unit
    of both is the group. A multi-label attribute is judged label by label; the worst is returned.
    There is a `doubt` if a gain in right guesses of `gain` could go unnoticed.
    """
    if attribute.multilabel:
        labels = [
            Attribute(name, "categorical", ("0", "1"), attribute.codes[:, i])
            for i, name in enumerate(attribute.classes)
        ]
        found = [_tell(encoded, a, groups, LEVEL / max(len(labels), 1), gain, seed) for a in labels]
        known = [t for t in found if t.tells is not None]
        if not known:
            return replace(_unknown(attribute), attribute=attribute.name)
        doubt = next((t.doubt for t in known if t.doubt), "")
        return replace(min(known, key=lambda t: t.chance), doubt=doubt)
    return _tell(encoded, attribute, groups, LEVEL, gain, seed)


def is_copy(column: pa.ChunkedArray | EncodedColumn, attribute: Attribute) -> bool:
    """Whether the column equals the attribute, or one label of it, up to renamed classes.

    The two must be one-to-one on the records that have both; a constant or empty column is no copy.
    """
    encoded = column if isinstance(column, EncodedColumn) else encode_column(column)
    targets = attribute.codes.T if attribute.multilabel else [attribute.codes]
    return any(_one_to_one(encoded.codes, np.asarray(codes)) for codes in targets)


def _one_to_one(a: Codes, b: Codes) -> bool:
    both = (a >= 0) & (b >= 0)
    if both.sum() < 2:
        return False
    pairs = np.unique(np.stack([a[both], b[both]]), axis=1)
    one, two = len(np.unique(pairs[0])), len(np.unique(pairs[1]))
    return bool(one == two == pairs.shape[1] and one > 1)


def _tell(
    encoded: EncodedColumn,
    attribute: Attribute,
    groups: npt.NDArray[np.int64] | None,
    level: float,
    gain: float,
    seed: int,
) -> Telling:
    known = np.flatnonzero(attribute.known)
    classes, y = np.unique(attribute.codes[known], return_inverse=True)
    if len(known) < FEWEST or len(classes) < 2:
        return _unknown(attribute)
    rng = np.random.default_rng([seed, 0x7E11])
    found: list[Telling] = []
    for guesser in _guessers(encoded):
        rows = known
        if guesser is not frequency_table and len(known) > MOST:
            rows = np.sort(rng.choice(known, MOST, replace=False))
        classes, some_y = np.unique(attribute.codes[rows], return_inverse=True)
        units = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        if units is not None and units.max(initial=0) + 1 < 2 * FOLDS:
            return _unknown(attribute)
        found.append(
            _judge(guesser, encoded.rows(rows), some_y, len(classes), units, attribute.name, rng)
        )
    # Bonferroni over the models; `_judge` accounts for the two statistics.
    best = min(found, key=lambda t: (t.chance, -t.accuracy))
    chance = best.chance * len(found)
    doubt = ""
    if groups is None:  # records of one group are not independent
        some = encoded.rows(known)
        exact = _exact(some, y, level / 2)
        # Half of the level goes to the exact test.
        by = "exact test" if exact < chance else best.by
        chance, best = 2 * min(chance, exact), replace(best, by=by)
        doubt = "" if chance < level else why_unchecked(some, y, attribute.name, LEVEL, gain)
    chance = min(chance, 1.0)
    return replace(best, chance=chance, tells=chance < level, doubt=doubt)


def _exact(encoded: EncodedColumn, y: Codes, level: float) -> float:
    """The p-value of the most surprising cell of values (or bins) and classes."""
    tables = [encoded.codes + 1]
    if encoded.kind != COMBINATION and encoded.distinct > 3 * BINS:
        tables.append(encoded.binned())
    each = level / len(tables)
    return len(tables) * min(chance_of_cells(table, y, each) for table in tables)


def _guessers(encoded: EncodedColumn) -> list[Guesser]:
    """The models to try; for few values, a frequency table is enough."""
    if encoded.distinct <= FREQUENT or encoded.kind == COMBINATION:
        return [frequency_table]
    return [frequency_table, boosted_trees, linear_discriminant]


def _judge(
    guesser: Guesser,
    encoded: EncodedColumn,
    y: Codes,
    classes: int,
    units: Codes | None,
    name: str,
    rng: np.random.Generator,
) -> Telling:
    """One model, cross-fitted, against the constant guess and the prior."""
    prior = np.bincount(y, minlength=classes) / len(y)
    log_p = np.empty((len(y), classes))
    fold = _folds(y, units, rng)
    for k in range(FOLDS):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        with _one_thread() if guesser is not frequency_table else nullcontext():
            p = guesser(encoded, train, y[train], test, classes)
        # Mixing in a tenth of the prior bounds the cost of one surprising record.
        log_p[test] = np.log(0.9 * p + 0.1 * prior)
    right = log_p.argmax(axis=1) == y
    constant = y == int(prior.argmax())
    gain = log_p[np.arange(len(y)), y] - np.log(prior[y])
    beyond = right.astype(np.float64) - constant
    chance = min(chance_of_gain(beyond, units), chance_of_gain(gain, units))
    return Telling(
        name,
        float(right.mean()),
        float(prior.max()),
        lower_limit(right, units, LEVEL),
        float(gain.mean() / np.log(2)),
        min(2 * chance, 1.0),
        None,
        guesser.__name__.replace("_", " "),
    )


def _one_thread() -> AbstractContextManager[Any]:
    """Limit to one thread: on so few records more are slower, above all on a busy machine."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> Any:
    import sklearn.ensemble  # noqa: F401 (loads the libraries to limit)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _folds(y: Codes, units: Codes | None, rng: np.random.Generator) -> Codes:
    """A fold for each record, stratified by class; with units, no unit is divided."""
    if units is None:
        order = np.lexsort((rng.random(len(y)), y))
        fold = np.empty(len(y), np.int64)
        fold[order] = np.arange(len(y)) % FOLDS
        return fold
    size = np.bincount(units)
    common = np.zeros(len(size), np.int64)
    for c in np.unique(y):
        share = np.bincount(units[y == c], minlength=len(size)) / np.maximum(size, 1)
        common[share > 0.5] = c + 1
    order = np.lexsort((rng.random(len(size)), common))
    of_unit = np.empty(len(size), np.int64)
    of_unit[order] = np.arange(len(size)) % FOLDS
    return of_unit[units]


def _unknown(attribute: Attribute) -> Telling:
    nothing = float("nan")
    return Telling(attribute.name, nothing, attribute.majority, 0.0, nothing, 1.0, None)
