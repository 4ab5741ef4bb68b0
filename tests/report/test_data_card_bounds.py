"""Bounds on the data card: never rounded down."""

from __future__ import annotations

import pytest

from withhold.report.data_card import _at_most


@pytest.mark.parametrize(
    ("bound", "floor", "shown"),
    [
        (0.5431, 0.5, "54.4 %"),
        (0.5000000024, 0.5, "50.0 %"),
        (0.02341, 0.0167, "2.35 %"),
        (0.0167 + 1e-9, 0.0167, "1.67 %"),
        (0.9999, 0.5, "100.0 %"),
        (1.0, 0.5, "100.0 %"),
        (0.543, 0.5, "54.3 %"),
    ],
)
def test_a_bound_is_rounded_up_and_the_floor_is_not(bound: float, floor: float, shown: str) -> None:
    assert _at_most(bound, floor) == shown
