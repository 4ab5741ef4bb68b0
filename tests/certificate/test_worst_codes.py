"""The code that tells most, and the code with the fewest behind it: counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.certificate.certify_bundle import fewest_behind, worst_lift


def test_the_worst_lift() -> None:
    """Class b is 20 of 100 and 8 of the 10 on code 1: four times as likely there."""
    table = np.array([[78.0, 2.0], [12.0, 8.0]])
    found = worst_lift(table, ("a", "b"))
    assert (found.code, found.of, found.share) == (1, "b", 0.1)
    assert found.lift == pytest.approx(4.0)


def test_a_code_that_hardly_occurs_is_no_evidence() -> None:
    table = np.array([[78.0, 2.0, 0.0], [12.0, 8.0, 0.5]])
    assert worst_lift(table, ("a", "b")).code == 1


def test_where_every_code_is_rare_the_commonest_count() -> None:
    table = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    found = worst_lift(table, ("a", "b"))
    assert (found.code, found.of) == (1, "b")


def test_a_class_without_records_is_no_class() -> None:
    table = np.array([[5.0, 5.0], [0.0, 0.0], [5.0, 5.0]])
    assert worst_lift(table, ("a", "none", "c")).lift == pytest.approx(1.0)


def test_the_fewest_behind_a_code() -> None:
    draws = np.array([4, 4, 4, 7, 7, 9, 9, 9])
    people = np.array([1, 2, 3, 1, 1, 5, 5, 6])
    found, used = fewest_behind(draws, people, "person")
    assert (found.code, found.number, found.of, used) == (7, 1, "person", 3)
