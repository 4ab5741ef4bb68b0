"""Rows of a class that leave: someone who is shown r of them rules out the classes with fewer."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.certificate.given_release import release_claim
from withhold.certificate.leaving_rows import LeavingRows


@pytest.mark.parametrize(
    ("sizes", "of", "rows", "r"),
    [((40, 20), 60, 48, 20), ((25, 21, 4), 60, 50, 20), ((7, 6, 5), 20, 15, 5)],
)
def test_the_share_with_too_few_rows_is_that_of_random_releases(
    sizes: tuple[int, ...], of: int, rows: int, r: int
) -> None:
    """of > sum of sizes: the other rows have no label."""
    rng = np.random.default_rng(0)
    s = np.repeat([*range(len(sizes)), -1], [*sizes, of - sum(sizes)])
    draws, short, labelled = 20_000, 0, 0
    for _ in range(draws):
        left = s[rng.permutation(of)[:rows]]
        leave = np.bincount(left[left >= 0], minlength=len(sizes))
        short += leave[(leave < r) & (np.array(sizes) >= r)].sum()
        labelled += leave.sum()
    found = LeavingRows(rows, of).too_few(sizes, r)
    assert found == pytest.approx(short / labelled, abs=0.01)
    assert found > 0.05


def test_nothing_is_added_where_all_rows_leave_or_classes_are_large() -> None:
    assert LeavingRows(60, 60).too_few([40, 20], 20) == 0
    assert LeavingRows(900, 1000).too_few([500, 500], 50) < 1e-12


def test_twenty_rows_of_one_class_are_of_the_class_of_which_so_many_leave() -> None:
    """Forty rows of one class and twenty of the other, a fifth held back: the smaller class hardly
    ever has twenty rows left. The codes say nothing, the number of rows does."""
    counts, leave = np.array([[20.0, 20.0], [10.0, 10.0]]), LeavingRows(48, 60)
    rng = np.random.default_rng(1)
    left = rng.multivariate_hypergeometric([40, 20], 48, size=20_000)
    able = left * (left >= 20)  # rows that can be shown with 19 others of their class
    right = able[:, 0].sum() / able.sum()
    assert right > 0.99
    assert release_claim(counts, floor=2 / 3, leave=leave).linked["20"] >= right
    by_person = (counts, np.array([0, 1]))
    assert release_claim(counts, floor=2 / 3, people=by_person, leave=leave).linked["20"] >= right
