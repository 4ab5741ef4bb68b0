"""Warnings about people with several rows."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.methods.features.exact.linked_rows import linked_notes
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


def notes(
    rows: np.ndarray, *, wrong: float = 0.0, of_rows: bool = False, by_person: bool = False
) -> list[str]:
    """The warnings for 200 people, every second a woman; rows (200,) of each person.

    wrong: the share of rows with the wrong sex; of_rows: the label is a coin of every row.
    """
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(200), rows)
    sex = np.where(rng.random(len(who)) < wrong, 1 - who % 2, who % 2)
    sex = rng.integers(0, 2, len(who)) if of_rows else sex
    columns = {"sex": np.array(["m", "w"])[sex], "person": [f"p{w}" for w in who]}
    x = rng.standard_normal((len(who), 2)).astype(np.float32)
    data = Dataset.from_arrays(x, columns, group="person", name="visits")
    return list(linked_notes(data, Roles.of("sex", ()), who.astype(np.int64), by_person=by_person))


@pytest.mark.parametrize("wrong", [0.0, 0.04, 0.1])
def test_wrong_labels_of_some_rows_do_not_end_the_warning(wrong: float) -> None:
    (note,) = notes(np.full(200, 6), wrong=wrong)
    word = "most" if wrong else "all"
    assert f"have several rows (up to 6), and 'sex' is the same in {word} rows of a" in note


@pytest.mark.parametrize("by_person", [False, True])
def test_the_number_of_rows_that_tells_is_a_warning(by_person: bool) -> None:
    """Women have eight rows and men six; one code per person does not hide that."""
    found = notes(np.where(np.arange(200) % 2, 8, 6), by_person=by_person)
    assert len(found) == (1 if by_person else 2)
    assert "the number of rows of a person of 'person' tells 'sex' (100 % right, 50 %" in found[-1]


def test_other_numbers_of_rows_are_no_warning() -> None:
    for seed in range(20):
        rows = np.random.default_rng([seed, 1]).integers(1, 12, 200)
        assert len(notes(rows)) == 1


def test_one_row_per_person_and_labels_of_rows_need_no_warning() -> None:
    assert notes(np.ones(200, np.int64)) == []
    assert notes(np.full(200, 6), of_rows=True) == []
