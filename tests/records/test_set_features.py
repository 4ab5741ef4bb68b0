from __future__ import annotations

import numpy as np
import pytest

from withhold.records.set_features import describe_sets, distinct_rows


def test_the_features_of_a_small_set_are_known():
    x = np.float32([[0, 0], [3, 4], [0, 0], [9, 9]])
    scores = np.float32([[1], [2], [3], [9]])
    (told,) = describe_sets(x, distinct_rows(x), scores, np.array([[0, 1, 2]]))
    spread = np.sqrt(2) / 3  # of 0, 1, 0
    expected = [1, 4 / 3, 3 * spread, 4 * spread, 0, 0, 3, 4]  # mean, deviation, least, greatest
    expected += [12 * spread**2]  # the covariance of both columns
    expected += [2, np.sqrt(2 / 3)]  # scores
    expected += [10 / 3, 0, 5]  # distances
    expected += [2 / 3, 1 / 3]  # two of three are distinct, one of three pairs is equal
    assert told == pytest.approx(expected, abs=1e-5)


def test_the_order_of_records_does_not_matter():
    rng = np.random.default_rng(0)
    x, scores = rng.normal(size=(60, 12)).astype(np.float32), rng.normal(size=(60, 2))
    sets = rng.permutation(60).reshape(4, 15)
    one, other = (
        describe_sets(x, distinct_rows(x), scores.astype(np.float32), s)
        for s in (sets, rng.permuted(sets, axis=1))
    )
    assert one == pytest.approx(other, abs=1e-4)


def test_equal_rows_have_equal_numbers():
    x = np.float32([[0.0, 1], [-0.0, 1], [0, 2]])
    number = distinct_rows(x)
    assert number[0] == number[1] != number[2]
