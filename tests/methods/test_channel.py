"""A release of finitely many codes: draws that belong to the record and follow W."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from withhold.core.errors import RecordError
from withhold.core.keyed import keyed_uniform
from withhold.methods.channel import Channel
from withhold.methods.modifier import FloatArray, Labels, State

KEY = b"a key of a channel"


class Given(Channel):
    """W(. | x) is the record itself, whatever its sum: x (n, N) -> W (n, N)."""

    method = "given"

    def __init__(self, n: int, key: bytes = KEY) -> None:
        self.codes = 10 * np.arange(n * n, dtype=np.float32).reshape(n, n)
        self.key = key

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        return x

    def state(self) -> State:
        raise NotImplementedError

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> Given:
        raise NotImplementedError


def rows(n: int, codes: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.ones(codes), n).astype(np.float32)


def test_the_draw_is_the_inverse_of_the_distribution_at_the_records_number() -> None:
    x = rows(300, 5)
    u = keyed_uniform(KEY, x)
    expected = (np.cumsum(x, axis=1, dtype=np.float64) < u[:, None]).sum(axis=1)
    assert (Given(5).draw(x) == np.minimum(expected, 4)).mean() > 0.999  # rows sum to 1 +- 1e-7
    np.testing.assert_array_equal(Given(5).transform(x), Given(5).codes[Given(5).draw(x)])


def test_draws_are_as_often_as_their_probabilities() -> None:
    """Many records with nearly the same W."""
    w = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    noise = 1e-4 * np.random.default_rng(0).random((6000, 5))
    x = (w + noise).astype(np.float32)
    found = np.bincount(Given(5).draw(x), minlength=5)
    assert chisquare(found, 6000 * w).pvalue > 1e-4


def test_what_cannot_be_is_never_drawn() -> None:
    x = np.zeros((500, 6), np.float32)
    rng = np.random.default_rng(0)
    x[:, 2], x[:, 4] = rng.random(500), rng.random(500)
    assert set(Given(6).draw(x)) == {2, 4}
    sure = np.eye(6, dtype=np.float32)
    np.testing.assert_array_equal(Given(6).draw(sure), np.arange(6))


@settings(max_examples=30)
@given(codes=st.integers(1, 12), scale=st.floats(1e-6, 1e6), seed=st.integers(0, 99))
def test_rows_that_do_not_quite_sum_to_one_are_no_problem(
    codes: int, scale: float, seed: int
) -> None:
    x = (scale * rows(40, codes, seed)).astype(np.float32)
    drawn = Given(codes).draw(x)
    assert drawn.min() >= 0
    assert drawn.max() < codes


def test_a_draw_belongs_to_its_record_and_its_key() -> None:
    x = rows(2000, 8)
    one = Given(8).draw(x)
    np.testing.assert_array_equal(Given(8).draw(x[::-1])[::-1], one)
    np.testing.assert_array_equal(Given(8).draw(x.astype(np.float64)), one)  # type: ignore[arg-type]
    np.testing.assert_array_equal(
        np.concatenate([Given(8).draw(r[None]) for r in x[:50]]), one[:50]
    )
    other = Given(8, b"another key").draw(x)
    expected = (x.astype(np.float64) ** 2).sum(axis=1)
    error = np.sqrt((expected * (1 - expected)).mean() / 2000)
    assert abs((one == other).mean() - expected.mean()) < 4.5 * error


def test_no_records() -> None:
    channel, none = Given(3), np.empty((0, 3), np.float32)
    assert channel.draw(none).shape == (0,)
    assert channel.probabilities(none).shape == (0, 3)
    assert channel.transform(none).shape == (0, 3)


def test_probabilities_that_are_not_numbers_are_no_draw() -> None:
    """Whatever goes wrong in a channel must not be released as its first code."""
    x: npt.NDArray[np.float32] = np.full((2, 3), np.nan, np.float32)
    for ask in (Given(3).draw, Given(3).probabilities, Given(3).transform):
        with pytest.raises(RecordError, match=r"record 0 \(the first is 0\) is too large"):
            ask(x)


@pytest.mark.parametrize("row", [0, 17, 2047, 2048, 4999])
def test_the_record_that_is_refused_is_named_by_its_row(row: int) -> None:
    x = rows(5000, 3)
    x[row, 1] = np.nan
    with pytest.raises(RecordError, match=f"^record {row} ") as told:
        Given(3).draw(x)
    assert told.value.row == row
    assert str(told.value.after(7)).startswith(f"record {row + 7} ")
