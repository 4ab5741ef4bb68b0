"""What the best of several models reads of an attribute from released rows.

Rows are divided at random: 60 % train the models, 10 % choose one of them, 30 % test it. Nothing
is paired with the originals but the labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.audit.attackers import Attacker, Logistic, MlpLarge, MlpSmall
from withhold.records.attribute import Attribute

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TESTED, CHOOSING = 0.3, 0.1
# Rows for each code from which on a table of codes is the best reader: no other model beats it on
# the rows it was made of, and their noise is small.
_MANY = 30
_MODELS: tuple[Attacker, ...] = (Logistic(), MlpLarge(epochs=24, patience=5))
_SMALL: tuple[Attacker, ...] = (Logistic(), MlpSmall())
_ROUNDS = 60  # of the boosted trees
_MOST_VALUES = 255  # of a category of the trees


def read_features(x: npt.NDArray[np.float32], attribute: Attribute, *, seed: int) -> float:
    """How often the attribute of a row is named rightly from its features x (n, d).

    Rows that repeat are codes. Codes with many rows each are read by a table of codes alone;
    otherwise it competes with a linear model and a network.
    """
    fitted, choosing, tested = _parts(attribute, seed)
    both = np.concatenate([fitted, choosing])
    code = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    number = int(code.max()) + 1
    y = attribute.codes
    if number * _MANY <= len(both):
        return _right(_by_code(code, y, both, tested), y[tested])
    guesses = [_by_code(code, y, fitted, choosing)] if 2 * number <= len(x) else []
    tests = [_by_code(code, y, both, tested)] if guesses else []
    for chosen, test in _by_models(_MODELS, x, attribute, (fitted, choosing, tested), seed):
        guesses.append(chosen)
        tests.append(test)
    return _best(guesses, tests, y, choosing, tested)


def read_table(table: pa.Table, attribute: Attribute, *, seed: int, trees_only: bool) -> float:
    """The same from the columns of a table, by trees or by the best of trees, linear and network.

    The attribute is of the rows of the table, in their order.
    """
    fitted, choosing, tested = _parts(attribute, seed)
    y = attribute.codes
    both = np.concatenate([fitted, choosing])
    x, categories = matrix(table)
    if trees_only:
        return _right(boosted(x, y, categories, both, tested, seed=seed), y[tested])
    guesses = [boosted(x, y, categories, fitted, choosing, seed=seed)]
    tests = [boosted(x, y, categories, both, tested, seed=seed)]
    wide = one_hot(x, categories)
    for chosen, test in _by_models(_SMALL, wide, attribute, (fitted, choosing, tested), seed):
        guesses.append(chosen)
        tests.append(test)
    return _best(guesses, tests, y, choosing, tested)


def boosted(
    x: FloatArray,
    y: IntArray,
    categories: Sequence[int],
    fitted: IntArray,
    asked: IntArray,
    *,
    seed: int,
) -> IntArray:
    """What boosted trees of the rows `fitted` guess of the rows `asked`."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        max_iter=_ROUNDS, categorical_features=list(categories), random_state=seed
    )
    # The trees stop early on a stratified part, which a class of a single row cannot be in.
    learned = fitted[np.bincount(y[fitted])[y[fitted]] > 1]
    return np.asarray(trees.fit(x[learned], y[learned]).predict(x[asked]), np.int64)


def matrix(table: pa.Table) -> tuple[FloatArray, list[int]]:
    """Numbers as they are, anything else as category numbers, NaN where missing: (n, columns).

    Also the columns that are categories; those of more than 255 values count as numbers.
    """
    columns, categories = [], []
    for i, name in enumerate(table.column_names):
        column = table[name]
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
            columns.append(np.asarray(values, np.float64))
            continue
        whole = column.combine_chunks()
        if not pa.types.is_dictionary(whole.type):
            whole = whole.dictionary_encode()
        whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        codes = whole.indices.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if len(whole.dictionary) <= _MOST_VALUES:
            categories.append(i)
        columns.append(np.asarray(codes, np.float64))
    return np.stack(columns, axis=1), categories


def one_hot(x: FloatArray, categories: Sequence[int]) -> npt.NDArray[np.float32]:
    """Categories as indicators, and every number twice: scaled, and its rank. For other models."""
    pieces = []
    for i in range(x.shape[1]):
        column, missing = x[:, i], np.isnan(x[:, i])
        if i in categories:
            values = np.unique(column[~missing])
            pieces += [(column == v)[:, None] for v in values]
        else:
            _, place = np.unique(np.where(missing, -np.inf, column), return_inverse=True)
            filled = np.where(missing, np.nanmean(column) if not missing.all() else 0.0, column)
            spread = filled.std()
            pieces.append(((filled - filled.mean()) / (spread if spread > 0 else 1.0))[:, None])
            pieces.append((place.reshape(-1) / max(int(place.max()), 1) - 0.5)[:, None])
        if missing.any():
            pieces.append(missing[:, None])
    return np.concatenate(pieces, axis=1).astype(np.float32)


def _parts(attribute: Attribute, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    order = np.random.default_rng(seed).permutation(np.flatnonzero(attribute.codes >= 0))
    tested, choosing = int(TESTED * len(order)), int(CHOOSING * len(order))
    first = len(order) - tested - choosing
    return order[:first], order[first : first + choosing], order[first + choosing :]


def _by_code(code: IntArray, y: IntArray, fitted: IntArray, asked: IntArray) -> IntArray:
    """The commonest class of the rows `fitted` with the same code."""
    table = np.zeros((int(code.max()) + 1, int(y.max()) + 1))
    np.add.at(table, (code[fitted], y[fitted]), 1.0)
    common = np.bincount(y[fitted]).argmax()
    guess = np.where(table.sum(axis=1) > 0, table.argmax(axis=1), common)
    found: IntArray = guess[code[asked]]
    return found


def _by_models(
    models: Sequence[Attacker],
    x: npt.NDArray[np.float32],
    attribute: Attribute,
    parts: tuple[IntArray, IntArray, IntArray],
    seed: int,
) -> list[tuple[IntArray, IntArray]]:
    """What each model guesses of the rows to choose on and of those to test on."""
    fitted, choosing, tested = parts
    mean, spread = x[fitted].mean(axis=0), x[fitted].std(axis=0)
    scaled = ((x - mean) / np.where(spread > 1e-6, spread, 1.0)).astype(np.float32)
    known, held = attribute.rows(fitted), attribute.rows(choosing)
    found = []
    for model in models:
        made = model.fit(scaled[fitted], known, scaled[choosing], held, seed=seed)
        found.append(
            (
                np.asarray(made.logits(scaled[choosing]).argmax(axis=1), np.int64),
                np.asarray(made.logits(scaled[tested]).argmax(axis=1), np.int64),
            )
        )
    return found


def _best(
    guesses: Sequence[IntArray],
    tests: Sequence[IntArray],
    y: IntArray,
    choosing: IntArray,
    tested: IntArray,
) -> float:
    best = int(np.argmax([_right(guess, y[choosing]) for guess in guesses]))
    return _right(tests[best], y[tested])


def _right(guess: IntArray, y: IntArray) -> float:
    return float((guess == y).mean())
