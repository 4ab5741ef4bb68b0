from __future__ import annotations

import numpy as np
import pytest

from withhold.records.record_sets import SIZES, draw_sets, is_of_people, set_sizes


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


@pytest.mark.parametrize("records", [2, 3, 6])
@pytest.mark.parametrize(
    ("wrong", "theirs"), [(0.0, True), (0.04, True), (0.1, True), (0.5, False)]
)
def test_a_label_with_some_mistakes_is_still_that_of_the_person(records, wrong, theirs):
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(400), records)
    sex = rng.integers(0, 2, 400)[people]
    noisy = np.where(rng.random(len(sex)) < wrong, 1 - sex, sex)
    assert is_of_people(noisy, people) == theirs


def test_a_label_that_everybody_has_on_some_records_is_not_of_people():
    people = np.repeat(np.arange(50), 6)
    assert not is_of_people(np.tile([0, 0, 0, 0, 1, 1], 50), people)
    assert not is_of_people(np.arange(50), np.arange(50))  # one record each
