"""Code vectors: means that one person cannot move."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.methods.features.codebook.robust import fair_weights, robust_means


def test_one_outlier_of_5000_does_not_show() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3)).astype(np.float32)
    drawn = np.arange(200) % 4
    x[8, 1] = 5000.0
    codes = robust_means(x, drawn, np.arange(200), codes=4, least=5)
    assert np.abs(codes).max() < 1.0


def test_one_person_with_many_outliers_does_not_show() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 2)).astype(np.float32)
    people = np.arange(300) // 20
    x[people == 3] += 1000.0
    codes = robust_means(x, np.zeros(300, np.int64), people, codes=1, least=3)
    assert np.abs(codes).max() < 1.5


def test_one_person_with_very_many_records_does_not_become_the_code() -> None:
    rng = np.random.default_rng(4)
    others, own = rng.standard_normal((50, 400)), rng.standard_normal((1, 400))
    x = np.concatenate([others, np.repeat(own, 1000, axis=0)]).astype(np.float32)
    people = np.concatenate([np.arange(50), np.full(1000, 50)])
    found = robust_means(x, np.zeros(1050, np.int64), people, codes=1, least=5)[0]
    five_times = (others.sum(axis=0) + 5 * own[0]) / 55
    assert np.corrcoef(found, own[0])[0, 1] <= np.corrcoef(five_times, own[0])[0, 1] + 0.05


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=30), st.integers(2, 8))
def test_nobody_has_more_than_a_fair_share(counts: list[int], least: int) -> None:
    count = np.array(counts)
    weights = fair_weights(count, least)
    total = weights * count
    assert ((weights > 0) & (weights <= 1)).all()
    assert total.max() <= total.sum() / min(least, len(count)) * (1 + 1e-9)
    assert total.max() <= least * np.median(count) * (1 + 1e-9)
    np.testing.assert_allclose(total, np.minimum(count, total.max()))
    if count.max() <= min(count.sum() / least, least * np.median(count)):
        assert (weights == 1).all()


def test_few_people_give_their_median() -> None:
    x = np.array([[0.0], [1.0], [900.0]], np.float32)
    codes = robust_means(x, np.zeros(3, np.int64), np.arange(3), codes=1, least=5)
    assert codes[0, 0] == 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.floats(1e3, 1e30))
def test_no_person_moves_a_code_beyond_the_others(seed: int, least: int, far: float) -> None:
    """Whatever one person's record is, the code stays within the range of the others."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 2)).astype(np.float32)
    x[0] = far
    codes = robust_means(x, np.zeros(40, np.int64), np.arange(40), codes=1, least=max(least, 2))
    assert (codes[0] <= x[1:].max(axis=0)).all()


def test_without_outliers_it_is_close_to_the_mean() -> None:
    x = np.random.default_rng(2).standard_normal((5000, 4)).astype(np.float32)
    codes = robust_means(x, np.zeros(5000, np.int64), np.arange(5000), codes=1, least=5)
    np.testing.assert_allclose(codes[0], x.mean(axis=0), atol=0.01)


def test_the_order_of_records_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((120, 3)).astype(np.float32)
    drawn, people = rng.integers(0, 3, 120), rng.integers(0, 30, 120)
    order = rng.permutation(120)
    one = robust_means(x, drawn, people, codes=3, least=2)
    two = robust_means(x[order], drawn[order], people[order], codes=3, least=2)
    np.testing.assert_allclose(one, two, atol=1e-6)
