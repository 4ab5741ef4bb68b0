"""Bounds that people read: never rounded down."""

from __future__ import annotations

import pytest

from withhold.certificate.claim_wording import at_most_or_guess


@pytest.mark.parametrize(
    ("bound", "floor", "digits", "shown"),
    [
        (0.5431, 0.5, 1, "54.4"),
        (0.5000000024, 0.5, 1, "50.0"),
        (0.02341, 0.0167, 2, "2.35"),
        (0.0167 + 1e-9, 0.0167, 2, "1.67"),
        (0.9999, 0.5, 1, "100.0"),
        (1.0, 0.5, 1, "100.0"),
        (0.543, 0.5, 1, "54.3"),
    ],
)
def test_a_bound_is_rounded_up_and_the_floor_is_not(
    bound: float, floor: float, digits: int, shown: str
) -> None:
    assert at_most_or_guess(bound, floor, digits=digits) == shown
