"""Draws that belong to a record: repeatable, uniform, and nobody's without the key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.core.keyed import keyed_normal, keyed_uniform, keyed_words

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


def records(n: int, d: int = 4, seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def test_the_draws_are_the_same_for_ever() -> None:
    """A release must be reproducible from its bundle: these figures may never change."""
    x = np.array([[0.0, 1.0], [-2.5, 3.0]], np.float32)
    assert keyed_words(KEY, x, 2).tolist() == [[621129630, 372154784], [857725554, 1035377807]]
    assert keyed_uniform(KEY, x).tolist() == [0.14461801156556453, 0.1997047928723198]


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 20), d=st.integers(1, 9), seed=st.integers(0, 1000))
def test_a_draw_belongs_to_its_record(n: int, d: int, seed: int) -> None:
    x = records(n, d, seed)
    order = np.random.default_rng(seed).permutation(n)
    for draw in (
        lambda v: keyed_words(KEY, v, 3),
        lambda v: keyed_normal(KEY, v),
        lambda v: keyed_uniform(KEY, v),
    ):
        whole = draw(x)
        np.testing.assert_array_equal(draw(x[order]), whole[order])
        np.testing.assert_array_equal(np.concatenate([draw(row[None]) for row in x]), whole)
        np.testing.assert_array_equal(draw(np.asfortranarray(x)), whole)


def test_no_records_no_draws() -> None:
    x = records(0)
    assert keyed_words(KEY, x, 3).shape == (0, 3)
    assert keyed_normal(KEY, x).shape == (0, 4)
    assert keyed_uniform(KEY, x).shape == (0,)


def test_every_bit_of_a_word_is_a_fair_coin() -> None:
    words = keyed_words(KEY, records(4000), 2)
    bits = (words[..., None] >> np.arange(32, dtype=np.uint32)) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(4000)


def test_records_that_differ_in_one_bit_and_other_keys_have_unrelated_draws() -> None:
    x = records(4000)
    near = x.copy()
    near[:, 3] = np.nextafter(near[:, 3], np.float32(9))
    one = keyed_normal(KEY, x)
    for other in (keyed_normal(KEY, near), keyed_normal(OTHER, x)):
        for j in range(4):
            assert abs(np.corrcoef(one[:, j], other[:, j])[0, 1]) < 4.5 / np.sqrt(4000)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_normal_draws_are_standard_normal(d: int) -> None:
    noise = keyed_normal(KEY, records(6000, d)).astype(np.float64)
    assert noise.shape == (6000, d)
    assert np.isfinite(noise).all()
    error = 4.5 / np.sqrt(6000)
    assert np.abs(noise.mean(axis=0)).max() < error
    assert np.abs(noise.std(axis=0) - 1).max() < error
    for level, below in ((-1.0, 0.158655), (0.0, 0.5), (2.0, 0.97725)):
        assert np.abs((noise < level).mean(axis=0) - below).max() < error
    if d > 1:
        assert np.abs(np.corrcoef(noise.T) - np.eye(d)).max() < error


def test_uniform_draws_are_uniform_and_strictly_inside() -> None:
    u = np.sort(keyed_uniform(KEY, records(14000)))
    assert u[0] > 0
    assert u[-1] < 1
    # Kolmogorov's distance at one in a million.
    assert np.abs(u - (np.arange(14000) + 0.5) / 14000).max() < 2.7 / np.sqrt(14000)


def test_negative_zero_is_the_same_record_as_zero() -> None:
    x = np.zeros((1, 4), np.float32)
    assert (keyed_words(b"k" * 32, x, 4) == keyed_words(b"k" * 32, -x, 4)).all()
