from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.media.moments import Moments


def moments(x, cuts=()):
    found = Moments(x.shape[1])
    for piece in np.split(x, sorted(cuts)):
        found.add(piece)
    return found


def test_mean_and_deviation():
    x = np.random.default_rng(0).normal(3, 2, (5000, 7)).astype(np.float32)
    found = moments(x)
    assert found.count == 5000
    assert found.mean.dtype == found.deviation.dtype == np.float32
    np.testing.assert_allclose(found.mean, x.mean(axis=0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(found.deviation, x.std(axis=0, dtype=np.float64), rtol=1e-6)


X = np.random.default_rng(1).lognormal(0, 4, (3100, 5)).astype(np.float32)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3100), max_size=12))
def test_where_the_records_are_cut_does_not_change_a_bit(cuts):
    whole, pieces = moments(X), moments(X, cuts)
    assert pieces.mean.tobytes() == whole.mean.tobytes()
    assert pieces.deviation.tobytes() == whole.deviation.tobytes()


def test_looking_changes_nothing():
    one, two = Moments(5), Moments(5)
    for piece in np.split(X, [10, 2000]):
        one.add(piece)
        two.add(piece)
        assert np.isfinite(two.mean).all()
        assert np.isfinite(two.deviation).all()
    assert one.mean.tobytes() == two.mean.tobytes()


def test_large_values_that_vary_little_lose_no_digits():
    x = (1e6 + np.arange(2000) % 2)[:, None].astype(np.float32)
    assert moments(x).deviation == pytest.approx(0.5, rel=1e-6)
    assert moments(x[:1]).deviation == 0


def test_nothing_is_kept_of_the_records():
    x = np.ones((100, 3), np.float32)
    found = moments(x)
    x[:] = 7
    assert found.mean.tolist() == [1, 1, 1]
