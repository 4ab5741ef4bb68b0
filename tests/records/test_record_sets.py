from __future__ import annotations

import numpy as np
import pytest

from withhold.records.record_sets import SIZES, draw_sets, set_sizes


@pytest.mark.parametrize(
    ("records", "first"),
    [([1] * 90 + [3] * 9, 3), ([1] * 90 + [2] * 9 + [4] * 5, 2), ([3] * 9 + [7] * 5, 3)],
)
def test_the_commonest_number_of_few_records_is_a_size(records, first):
    assert set_sizes(np.repeat(np.arange(len(records)), records)) == (first, *SIZES)


@pytest.mark.parametrize("records", [[1] * 50, [5] * 50, [3] * 9 + [7] * 50])
def test_otherwise_sizes_are_fixed(records):
    assert set_sizes(np.repeat(np.arange(len(records)), records)) == SIZES
    assert set_sizes(None) == SIZES


def test_a_set_has_different_records_of_one_person():
    who = np.random.default_rng(0).permutation(np.repeat(np.arange(30), 12))
    sets, owner = draw_sets(who, 5, 0)
    assert (who[sets] == who[sets[:, :1]]).all()
    assert (np.diff(np.sort(sets, axis=1), axis=1) > 0).all()
    assert (owner == who[sets[:, 0]]).all()
