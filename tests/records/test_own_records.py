from __future__ import annotations

import numpy as np
import pytest

from withhold.records.column_codes import ColumnCodes
from withhold.records.own_records import describe_among_own, describe_people

WHO = np.array([7, 3, 7, 7, 3, 5])
V = np.float32([[1], [10], [2], [6], [20], [9]])
CODES = np.array([0, 0, 0, 1, 1, 0])


def columns() -> ColumnCodes:
    made = ColumnCodes.of([(CODES, CODES)])
    assert made is not None
    return made


def test_a_record_is_compared_with_the_others_of_its_person():
    value, less, number, same, rank, rank_of_code = describe_among_own(V, WHO, columns()).T
    assert value.tolist() == V[:, 0].tolist()
    assert less == pytest.approx([1 - 4, 10 - 20, 2 - 3.5, 6 - 1.5, 20 - 10, 0])
    assert np.exp(number) == pytest.approx([3, 2, 3, 3, 2, 1])
    assert same == pytest.approx([0.5, 0, 0.5, 0, 0, 0])  # share of the others with this value
    assert rank == pytest.approx([0, 0, 0.5, 1, 1, 0])
    assert rank_of_code == pytest.approx([0.25, 0, 0.25, 1, 1, 0])  # ties count half


def test_a_person_is_described_by_all_records():
    mean, spread, distinct, equal = describe_people(V, WHO, columns()).T  # people 3, 5 and 7
    assert mean == pytest.approx([15, 9, 3])
    assert spread == pytest.approx([5, 0, np.sqrt((4 + 1 + 9) / 3)])
    assert distinct == pytest.approx([1, 1, 2 / 3])
    assert equal == pytest.approx([0, 0, 1 / 3])


def test_the_order_of_records_does_not_matter():
    order = np.random.default_rng(0).permutation(len(V))
    here, there = (
        describe_among_own(V[rows], WHO[rows], columns().on(rows))
        for rows in (np.arange(len(V)), order)
    )
    assert here[order] == pytest.approx(there)
