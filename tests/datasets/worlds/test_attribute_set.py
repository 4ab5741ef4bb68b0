"""Attributes of drawn worlds: shares and correlations as asked, and the best guess from them."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.datasets.worlds.attribute_set import AttributeSet

THINGS = AttributeSet(
    "made things",
    "things",
    {
        "big": ("no", "yes"),
        "round": ("no", "yes"),
        "heavy": ("no", "yes"),
        "hue": ("red", "green", "blue"),
        "form": ("ball", "cube", "cone"),
    },
)


def test_drawn_values_have_their_shares() -> None:
    n = 20_000
    shares = {"big": {"yes": 0.1}, "hue": {"green": 0.5}, "form": {"ball": 0.25, "cone": 0.75}}
    drawn = THINGS.distribution(None, shares).draw(n, np.random.default_rng(0))
    wanted = {"big": [0.9, 0.1], "round": [0.5, 0.5], "hue": [0.25, 0.5, 0.25]}
    for name, share in wanted.items():
        found = np.bincount(drawn[name], minlength=len(share)) / n
        assert found == pytest.approx(share, abs=2 / np.sqrt(n)), name
    assert not (drawn["form"] == 1).any()


@pytest.mark.parametrize("phi", [-0.2, 0.0, 0.3, 0.6])
def test_phi_of_attributes_with_different_shares(phi: float) -> None:
    shares = {"big": {"yes": 0.2}, "round": {"yes": 0.3}}
    found = THINGS.distribution({("round", "big"): phi, ("round", "heavy"): 0.3}, shares)
    table = found.table.sum(axis=found.names.index("heavy"))  # axes big, round
    assert table.sum(axis=1) == pytest.approx([0.8, 0.2])
    assert table.sum(axis=0) == pytest.approx([0.7, 0.3])
    both = table[1, 1]
    assert (both - 0.06) / np.sqrt(0.2 * 0.8 * 0.3 * 0.7) == pytest.approx(phi)
    drawn = found.draw(20_000, np.random.default_rng(1))
    assert np.corrcoef(drawn["big"], drawn["round"])[0, 1] == pytest.approx(phi, abs=0.03)
    # max over big of P(big, round), for each value of round
    guess = max(0.7 - (0.2 - both), 0.2 - both) + max(0.3 - both, both)
    assert found.best_guess("big", ["round"]) == pytest.approx(guess)


def test_the_best_guess_of_many_values() -> None:
    equal = {"hue": {"red": 0.6}, "form": {"ball": 0.6}}
    assert THINGS.best_guess("hue", ["form"], {("hue", "form"): 0.4}) == pytest.approx(0.6)
    assert THINGS.best_guess("hue", ["big"], None, equal) == pytest.approx(0.6)
    # P(red, ball) = 0.4 * 0.6 + 0.6 * 0.36; each other form goes with red, or with its own hue.
    other = max(0.6 * 0.6 * 0.2, 0.4 * 0.2 + 0.6 * 0.04)
    found = THINGS.best_guess("hue", ["form"], {("hue", "form"): 0.4}, equal)
    assert found == pytest.approx(0.24 + 0.216 + 2 * other)
    reverse = {"hue": {"red": 0.6}, "form": {"cone": 0.6}}
    assert THINGS.best_guess("hue", ["form"], {("hue", "form"): -1.0}, reverse) == pytest.approx(1)


@pytest.mark.parametrize(
    ("correlation", "shares", "said"),
    [
        ({}, {"bigg": {"yes": 1.0}}, "made things have no attribute 'bigg'.*did you mean 'big'"),
        ({}, {"hue": {"gren": 0.5}}, "hue has no value 'gren'; did you mean 'green'"),
        ({}, {"big": {"yes": -0.1}}, "share of big 'yes' must be in 0..1, not -0.1"),
        ({}, {"big": {"yes": float("nan")}}, "must be in 0..1"),
        ({}, {"big": {"yes": 0.3, "no": 0.3}}, "shares of big must sum to 1, not 0.6"),
        ({}, {"hue": {"red": 0.7, "blue": 0.7}}, "shares of hue must sum to 1, not 1.4"),
        ({("big", "round"): 0.9}, {"big": {"yes": 0.1}}, "can be -0.333 to 0.333, not 0.9"),
        ({("big", "round"): 0.1}, {"big": {"yes": 1.0}}, "can be 0 to 0, not 0.1"),
        ({("hue", "form"): 0.5}, {"hue": {"red": 0.5}}, "hue and form have different shares"),
        (
            {("big", "round"): 0.9, ("round", "heavy"): 0.9, ("big", "heavy"): -0.9},
            {},
            "no things can have these correlations together",
        ),
    ],
)
def test_mistakes(
    correlation: dict[tuple[str, str], float], shares: dict[str, dict[str, float]], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        THINGS.distribution(correlation, shares)
