"""The attributes of drawn faces, and their joint distribution under given correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError, did_you_mean, listing

# The pair of attributes, and how strongly they are correlated, from -1 to 1.
Correlation = Mapping[tuple[str, str], float]
Floats = npt.NDArray[np.float64]
Codes = dict[str, npt.NDArray[np.int64]]

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
_STEPS, _TOLERANCE = 2000, 1e-9


def joint(correlation: Correlation) -> tuple[tuple[str, ...], Floats]:
    """The correlated attributes, and their joint distribution: an array with one axis for each.

    Every attribute is uniform. A pair (a, b) with coefficient c has the distribution

        P(a = i, b = j) = |c| [i = j] / k + (1 - |c|) / k^2,

    with the values of b in reverse order if c is negative. For two binary attributes c is the phi
    coefficient; for more values |c| is Cramer's V. With several pairs, the joint distribution is
    the one of greatest entropy that has all of these pairs (iterative proportional fitting).
    """
    pairs = [(pair, _pair_table(pair, c)) for pair, c in correlation.items()]
    names = tuple(name for name in VALUES if any(name in pair for pair in correlation))
    sizes = [len(VALUES[name]) for name in names]
    table = np.full(sizes, 1.0 / math.prod(sizes))
    for _ in range(_STEPS):
        worst = 0.0
        for pair, wanted in pairs:
            axes = [names.index(name) for name in pair]
            target = wanted if axes[0] < axes[1] else wanted.T
            others = tuple(i for i in range(len(names)) if i not in axes)
            found = table.sum(axis=others, keepdims=True)
            target = target.reshape(found.shape)
            worst = max(worst, float(np.abs(found - target).max()))
            ratio = np.divide(target, found, out=np.zeros_like(found), where=found > 0)
            table = table * ratio
        if worst < _TOLERANCE:
            return names, table
    told = listing([f"{a} and {b} {c:g}" for (a, b), c in correlation.items()])
    raise UserError(f"no faces can have these correlations together: {told}; make them weaker")


def draw_codes(n: int, correlation: Correlation, rng: np.random.Generator) -> Codes:
    """The values of n faces, as numbers into `VALUES`; n for each attribute."""
    names, table = joint(correlation)
    cells = rng.choice(table.size, n, p=table.ravel() / table.sum())
    drawn = dict(zip(names, np.unravel_index(cells, table.shape), strict=True)) if names else {}
    return {
        name: drawn[name] if name in drawn else rng.integers(0, len(values), n)
        for name, values in VALUES.items()
    }


def best_guess(attribute: str, known: Sequence[str], correlation: Correlation) -> float:
    """The greatest possible accuracy of guessing an attribute from the values of others alone.

    It is sum over known values v of max_a P(attribute = a, known = v). For two binary attributes
    with phi coefficient c this is (1 + |c|) / 2. An attacker who reads more than this from a
    release in which all other signs of the attribute are gone sees more than the known ones.

    >>> round(best_guess("gender", ["lipstick"], {("gender", "lipstick"): 0.8}), 6)
    0.9
    """
    for name in (attribute, *known):
        _check_name(name)
    if attribute in known:
        return 1.0
    names, table = joint(correlation)
    if attribute not in names:
        return 1 / len(VALUES[attribute])
    kept = [name for name in names if name == attribute or name in known]
    others = tuple(i for i, name in enumerate(names) if name not in kept)
    return float(table.sum(axis=others).max(axis=kept.index(attribute)).sum())


def _pair_table(pair: tuple[str, str], coefficient: float) -> Floats:
    if len(pair) != 2 or pair[0] == pair[1]:
        raise UserError(f"a correlation is of two different attributes, not {pair!r}")
    for name in pair:
        _check_name(name)
    sizes = [len(VALUES[name]) for name in pair]
    if sizes[0] != sizes[1]:
        raise UserError(
            f"{pair[0]} has {sizes[0]} values and {pair[1]} has {sizes[1]}; a correlation needs two"
            " attributes with equally many values"
        )
    if not -1 <= coefficient <= 1:  # also refuses NaN
        raise UserError(
            f"the correlation of {pair[0]} and {pair[1]} must be in -1..1, not {coefficient:g}"
        )
    same = np.eye(sizes[0])[:, :: -1 if coefficient < 0 else 1]
    strength = abs(coefficient)
    return np.asarray(strength * same / sizes[0] + (1 - strength) / sizes[0] ** 2)


def _check_name(name: str) -> None:
    if name not in VALUES:
        raise UserError(
            f"drawn faces have no attribute '{name}' that can be correlated"
            f"{did_you_mean(name, VALUES)} (known: {listing(VALUES, most=12)})"
        )
