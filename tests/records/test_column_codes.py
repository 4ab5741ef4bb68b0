from __future__ import annotations

import numpy as np
import pytest

from withhold.records.column_codes import ColumnCodes, describe_columns


def codes(*columns):
    values = [np.asarray(c, np.int64) for c in columns]
    made = ColumnCodes.of((v, v) for v in values)
    assert made is not None
    return made


def test_the_features_of_a_small_set_are_known():
    made = codes([0, 0, 1, 1, 0, 1], [0, 1, 2, 3, 4, 5])
    (told,) = describe_columns(made, np.array([[0, 1, 2]]))
    distinct = [2 / 3, 1, 1]  # of each column, and of the pair
    equal = [1 / 3, 0, 0]
    rising = 6 / np.sqrt(6 * 8)  # ranks -1, -1, 2 and -2, 0, 2 within the set
    product = (2.5 + 1.5 - 0.5) / 3 / np.sqrt(35 / 12)  # ranks -1, -1, 1 and -2.5, -1.5, -0.5
    assert told == pytest.approx([*distinct, *equal, rising, product, rising, product])


def test_the_order_of_records_does_not_matter():
    rng = np.random.default_rng(0)
    made = codes(*rng.integers(0, 4, (5, 60)))
    sets = rng.permutation(60).reshape(4, 15)
    one, other = (describe_columns(made, s) for s in (sets, rng.permuted(sets, axis=1)))
    assert one == pytest.approx(other, abs=1e-5)


def test_an_xor_of_three_columns_is_one_number_of_a_set():
    """a xor b xor c is constant in the set: the mean product of the three signs is 1 or -1."""
    rng = np.random.default_rng(0)
    noise, a, b = rng.integers(0, 30, 400), *rng.integers(0, 2, (2, 400))
    made = codes(noise, a, b, a ^ b ^ 1, rng.integers(0, 2, 400))
    told = describe_columns(made, np.arange(400).reshape(40, 10))
    steady = np.abs(told).min(axis=0)
    assert (steady > 0.9).sum() >= 1
    assert (steady > 0.9).sum() < 10


def test_columns_that_tell_the_same_records_apart_count_once():
    a = np.array([0, 1, 2, 0, 1, 2])
    made = codes(a, 2 - a, np.zeros(6), [0, 0, 0, 1, 1, 1])
    assert made.codes.shape == (6, 2)
    assert made.codes[:, 0].tolist() == [0, 0, 0, 1, 1, 1]  # the fewest values first
    assert ColumnCodes.of([(np.zeros(4, np.int64), np.zeros(4, np.int64))]) is None


def test_there_are_never_too_many_pairs_and_triples():
    rng = np.random.default_rng(0)
    made = codes(*rng.integers(0, 3, (100, 50)))
    assert made.codes.shape[1] == 64
    assert made.joint().shape[1] == 120 + 84
