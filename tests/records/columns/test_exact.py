"""Exact tests: known answers, and alarms no more often than the level says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import fisher_exact

from withhold.records.columns.exact import chance_of_cells, chance_of_squares, fisher


def test_a_cell_has_the_chance_of_fishers_test() -> None:
    for table, side in (([[10, 10], [10, 2970]], "greater"), ([[1, 19], [30, 50]], "less")):
        expected = fisher_exact(table, side).pvalue
        (a, b), (c, _) = table
        assert fisher(a, a + b, a + c, int(np.sum(table))) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("codes", "values", "share"), [(1, 3, 0.03), (1, 40, 0.5), (12, 80, 0.5), (30, 40, 0.02)]
)
def test_alarms_are_no_more_frequent_than_the_level(codes: int, values: int, share: float) -> None:
    """400 tables at 1 %: four alarms are expected, and 12 or more have a chance of 0.1 %."""
    cells = squares = 0
    for seed in range(400):
        rng = np.random.default_rng([seed, codes, values])
        stratum, value = rng.integers(0, codes, 400), rng.integers(0, values, 400)
        y = (rng.random(400) < share).astype(np.int64)
        cells += chance_of_cells(value, y, 0.01) < 0.01
        squares += chance_of_squares(value, y, stratum, level=1e-9) < 0.01
    assert cells < 12
    assert squares < 12


def test_a_parity_of_two_codes_is_seen_in_cells_of_two_records() -> None:
    rng = np.random.default_rng(0)
    stratum, value = rng.integers(0, 12, 2000), rng.integers(0, 80, 2000)
    y = (stratum + value + (rng.random(2000) < 0.2)) % 2
    assert chance_of_squares(value, y, stratum, level=1e-6) < 1e-6
    assert chance_of_squares(value, y, level=1e-6) > 1e-6
