"""Columns of a mixed table that the method does not make: they do not leave by themselves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import withhold as wh
from withhold.core.errors import UserError
from withhold.release.wishes import Wishes

QUICK = {"codes": 8, "scores": "metric"}


def _table(n: int = 400) -> pa.Table:
    """Notes repeat in one of three records, so they are no id, and say nothing about sex."""
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, n)
    words = ["cat", "bicycle", "walks", "town", "often", "coffee", "garden", "school", "music"]
    notes = [" ".join(rng.choice(words, 12)) for _ in range(2 * n // 3)]
    return pa.table(
        {
            "sex": np.array(["m", "f"])[sex],
            "job": np.array(list("abcde"))[(rng.integers(0, 4, n) + sex) % 5],
            "age": rng.integers(18, 80, n),
            "notes": [notes[i] for i in rng.integers(0, len(notes), n)],
        }
    )


@pytest.mark.slow
def test_a_persons_own_words_do_not_leave_even_if_they_tell_nothing() -> None:
    made = wh.release(_table(), suppress="sex", config=QUICK)
    assert made.table.column_names == ["job", "age"]
    assert "free text" in made.left_out["notes"]


@pytest.mark.slow
def test_they_leave_if_the_owner_says_so() -> None:
    made = wh.release(_table(), suppress="sex", config=QUICK, keep=["notes"])
    assert "notes" in made.table.column_names


def test_a_column_cannot_be_kept_and_dropped() -> None:
    with pytest.raises(UserError, match="'region' is in both --keep and --drop; choose one"):
        Wishes.of(keep="age,region", drop=["region"])
