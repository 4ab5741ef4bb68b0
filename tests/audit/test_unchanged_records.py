"""Copies: rows of a table are compared column by column."""

from __future__ import annotations

import numpy as np

from withhold.audit.split import Split
from withhold.audit.unchanged_records import copies

COLUMNS, VALUES, ROWS = 6, 40, 1500


def _one_hot(values: np.ndarray) -> tuple[np.ndarray, tuple[slice, ...]]:
    x = np.eye(VALUES, dtype=np.float32)[values].reshape(len(values), -1)
    return x, tuple(slice(i * VALUES, (i + 1) * VALUES) for i in range(COLUMNS))


def _split(n: int) -> Split:
    place = np.arange(n) % 3
    return Split(place == 0, place == 1, place == 2)


def test_rows_of_other_categories_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, VALUES, (ROWS, COLUMNS))
    moved = (values + 1) % VALUES
    few = rng.integers(0, COLUMNS, ROWS)  # one column stays as it was
    moved[np.arange(ROWS), few] = values[np.arange(ROWS), few]
    x, columns = _one_hot(values)
    z, _ = _one_hot(moved)
    # One column of six agrees, and 230 of 240 features do.
    found = copies(x, z, _split(ROWS), seed=0, columns=columns)
    assert all(one.copies == 0 and not one.found for one in found.values())


def test_unchanged_rows_among_changed_ones_are_copies() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, VALUES, (ROWS, COLUMNS))
    moved = rng.integers(0, VALUES, (ROWS, COLUMNS))
    kept = rng.random(ROWS) < 0.1
    moved[kept] = values[kept]
    x, columns = _one_hot(values)
    z, _ = _one_hot(moved)
    found = copies(x, z, _split(ROWS), seed=0, columns=columns)
    assert sum(one.copies for one in found.values()) == kept.sum()
    assert all(one.found for one in found.values())


def test_features_of_no_column_count_by_themselves() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(ROWS, 3 + COLUMNS)).astype(np.float32)
    z = x.copy()
    z[:, 3:] += 1  # the six features of one column
    split = _split(ROWS)
    assert all(not c.found for c in copies(x, z, split, seed=0, columns=(slice(3, 9),)).values())
    z[:, 3:] = x[:, 3:]
    assert all(c.found for c in copies(x, z, split, seed=0, columns=(slice(3, 9),)).values())
