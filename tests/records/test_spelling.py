"""Classes that differ only in how they are written."""

from __future__ import annotations

import pytest

from withhold.records.spelling import written_alike


@pytest.mark.parametrize(
    ("classes", "groups"),
    [
        (["f", "m"], []),
        (["F", "M", "f"], [["F", "f"]]),
        (["F", "Female", "M"], [["F", "Female"]]),
        (["A", "B", "AB", "0"], []),  # blood groups
        (["m", "male", "married"], []),  # m could be either
        ([" new  york", "New York", "Newark"], [[" new  york", "New York"]]),
        ([">50K", ">50K.", "<=50K"], [[">50K", ">50K."]]),  # as in Adult's test file
        (["1", "10", "1.0"], []),
    ],
)
def test_groups(classes: list[str], groups: list[list[str]]) -> None:
    assert written_alike(classes) == groups
