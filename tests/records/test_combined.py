"""Combinations of columns as numbers, against numpy's sort of rows."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.records.combined import combined


@pytest.mark.parametrize("high", [2, 50, 4000, 2**40])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_it_is_the_place_among_the_distinct_rows(high: int, columns: int) -> None:
    rng = np.random.default_rng(columns)
    rows = rng.integers(-1, high, (300, columns))
    rows[150:] = rows[rng.permutation(150)]
    wanted = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    np.testing.assert_array_equal(combined(rows), wanted)


def test_no_rows() -> None:
    assert combined(np.empty((0, 2), np.int64)).shape == (0,)
