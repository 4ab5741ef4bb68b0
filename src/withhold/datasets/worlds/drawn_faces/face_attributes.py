"""The attributes of drawn faces, and their joint distribution under given correlations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from withhold.datasets.worlds.attribute_set import AttributeSet, Codes, Correlation, Floats

NO_YES = ("no", "yes")
VALUES: dict[str, tuple[str, ...]] = {
    "gender": ("male", "female"),
    "lipstick": NO_YES,
    "beard": NO_YES,
    "smile": NO_YES,
    "glasses": NO_YES,
    "hair": ("black", "brown", "blond", "red", "grey"),
    "hair_length": ("short", "medium", "long"),
    "skin": ("light", "tan", "brown", "dark"),
    "pose": ("left", "front", "right"),
}
FACES = AttributeSet("drawn faces", "faces", VALUES)


def joint(correlation: Correlation) -> tuple[tuple[str, ...], Floats]:
    """The correlated attributes, and their joint distribution: an array with one axis for each."""
    found = FACES.distribution(correlation)
    return found.names, found.table


def draw_codes(n: int, correlation: Correlation, rng: np.random.Generator) -> Codes:
    """The values of n faces, as numbers into `VALUES`; n for each attribute."""
    return FACES.distribution(correlation).draw(n, rng)


def best_guess(attribute: str, known: Sequence[str], correlation: Correlation) -> float:
    """The greatest possible accuracy of guessing an attribute from the values of others alone.

    It is sum over known values v of max_a P(attribute = a, known = v). For two binary attributes
    with phi coefficient c this is (1 + |c|) / 2. An attacker who reads more than this from a
    release in which all other signs of the attribute are gone sees more than the known ones.

    >>> round(best_guess("gender", ["lipstick"], {("gender", "lipstick"): 0.8}), 6)
    0.9
    """
    return FACES.best_guess(attribute, known, correlation)
