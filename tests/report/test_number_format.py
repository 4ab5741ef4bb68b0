"""Figures as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.report import number_format


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((0.984, 0.0167), ("98 of 100", "2 of 100")),
        ((0.021, 0.017), ("21 of 1,000", "17 of 1,000")),
        ((0.0, 1.0), ("0 of 100", "100 of 100")),
        ((0.001, 0.9999), ("fewer than 1 of 100", "more than 99 of 100")),
        ((0.5, 0.5), ("50 of 100", "50 of 100")),
        ((float("nan"), 0.5), ("–", "50 of 100")),
    ],
)
def test_out_of(shares: tuple[float, ...], words: tuple[str, ...]) -> None:
    found = tuple(text.replace("\N{NO-BREAK SPACE}", " ") for text in number_format.out_of(*shares))
    assert found == words


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.floats(0, 1))
def test_some_is_never_none_nor_all(share: float, other: float) -> None:
    found = number_format.out_of(share, other)[0].replace("\N{NO-BREAK SPACE}", " ")
    assert found not in ("0 of 100", "100 of 100", "0 of 1,000", "1,000 of 1,000")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (7384, "2 h 3 min")],
)
def test_seconds(value: float, words: str) -> None:
    assert number_format.seconds(value).replace("\N{NO-BREAK SPACE}", " ") == words


def test_what_is_missing() -> None:
    nan = float("nan")
    for write in (
        number_format.percent,
        number_format.points,
        number_format.bits,
        number_format.seconds,
    ):
        assert write(None) == write(nan) == "–"
    assert (
        number_format.span(None)
        == number_format.span((0.1, nan))
        == number_format.bits_span(None)
        == ""
    )
