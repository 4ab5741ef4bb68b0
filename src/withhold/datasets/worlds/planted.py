"""Worlds with one planted leak each, which an audit must find.

Each world hides a binary `label` in a different way. Its Bayes accuracy is known, and so is the
prediction of the Bayes rule for every record (`World.guess`), so an attacker can be compared with
the best possible one on the same records. With default arguments, a good attacker gets close to the
Bayes accuracy, and an unsuited one gets nothing.

Labels, and noise on labels, are dealt as in `gaussian`. Let L be 1 for label 1 and -1 for label 0;
each record is then drawn given its label. Everything that does not leak is N(0, 1). The leak is
along random axes, unless the world says that it is in single features.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.datasets.worlds import gaussian
from withhold.datasets.worlds.gaussian import (
    Array,
    Labels,
    World,
    below,
    check_separation,
    check_size,
    deal,
    rotation,
)

PLANTED: dict[str, Callable[..., World]] = {}

_Make = TypeVar("_Make", bound=Callable[..., World])


def _planted(make: _Make) -> _Make:
    """Add a world to the registry under its own name."""
    PLANTED[make.__name__] = make
    return make


@_planted
def linear(n: int = 12_000, *, d: int = 12, separation: float = 1.2, seed: int = 0) -> World:
    """The label moves the mean: x = s L a + N(0, I). The sign along a has accuracy Φ(s)."""
    check_size(n, d, least=1)
    check_separation(separation)
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(2, 0.5), rng)
    at = separation * _sign(label) + rng.standard_normal(n)
    return _world(at[:, None], d, label, split, below(separation), at > 0, rng)


@_planted
def xor(n: int = 12_000, *, d: int = 12, separation: float = 1.8, seed: int = 0) -> World:
    """The label says whether the signs along two axes differ: `gaussian.xor` with its guess."""
    world = gaussian.xor(n, d, separation=separation, seed=seed)
    at = world.x @ world.axes.T
    return replace(world, guess={"label": (at[:, 0] * at[:, 1] < 0).astype(np.int64)})


@_planted
def parity(n: int = 16_000, *, d: int = 8, separation: float = 2.0, seed: int = 0) -> World:
    """The label is the parity of three signs, each in its own feature.

    x_j = s A_j + N(0, 1) with A_1 A_2 A_3 = L; any two of the signs are independent of L. As
    E[L | x] = tanh(s x_1) tanh(s x_2) tanh(s x_3), the Bayes rule is the sign of x_1 x_2 x_3,
    right if an even number of the three is misread: (1 + (2 Φ(s) - 1)³) / 2.
    """
    check_size(n, d, least=3)
    check_separation(separation)
    rng = np.random.default_rng(seed)
    cell, split = deal(n, np.full(8, 1 / 8), rng)
    signs = _sign(cell[:, None] >> np.arange(3) & 1)
    at = separation * signs + rng.standard_normal((n, 3))
    label = (signs.prod(axis=1) > 0).astype(np.int64)
    bayes = (1 + (2 * below(separation) - 1) ** 3) / 2
    return _world(at, d, label, split, bayes, at.prod(axis=1) > 0, rng, turned=False)


@_planted
def product(
    n: int = 20_000, *, d: int = 8, gap: float = 0.2, flip: float = 0.1, seed: int = 0
) -> World:
    """The label is the sign of the product of two coordinates; neither reveals anything alone.

    x_1 and x_2 are N(0, 1) moved away from 0 by `gap`, independent, with the same distribution for
    both labels. Unlike in `xor` they have no clusters, and the noise is not in x: a share `flip` of
    the labels is inverted, so the Bayes accuracy is 1 - flip. Without a gap, a boundary that is off
    by ε misreads about ε log(1/ε) of the records, and no attacker learns it from so few.
    """
    check_size(n, d, least=2)
    _check_flip(flip)
    if not 0 <= gap < math.inf:
        raise UserError(f"gap must be finite and not negative, not {gap}")
    rng = np.random.default_rng(seed)
    shown, turned, split = _deal_flips(n, 2, flip, rng)
    at = rng.standard_normal((n, 2))
    at += gap * np.sign(at)
    at[:, 0] *= np.sign(at.prod(axis=1)) * _sign(shown)
    return _world(at, d, shown ^ turned, split, 1 - flip, shown, rng)


@_planted
def norm(
    n: int = 12_000, *, d: int = 8, separation: float = 0.4, spread: float = 0.3, seed: int = 0
) -> World:
    """The label changes only the length of x; its direction is uniform.

    log(|x| / √d) ~ N(δ L, τ²) with δ = separation, τ = spread: accuracy Φ(δ / τ), by |x|² > d.
    """
    check_size(n, d, least=1)
    check_separation(separation)
    if not 0 < spread < math.inf:
        raise UserError(f"spread must be finite and above 0, not {spread}")
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(2, 0.5), rng)
    length = separation * _sign(label) + spread * rng.standard_normal(n)
    at = math.sqrt(d) * np.exp(length)[:, None] * _directions(n, d, rng)
    return _world(at, d, label, split, below(separation / spread), length > 0, rng)


@_planted
def subgroup(
    n: int = 20_000,
    *,
    d: int = 8,
    share: float = 0.1,
    majority: float = 0.8,
    separation: float = 2.0,
    seed: int = 0,
) -> World:
    """Only a rare group of records shows the label; elsewhere the majority is the best guess.

    The first axis identifies the group exactly: it is uniform in ±√3 about 6 in the group, and
    about 0 elsewhere. The second is N(s A, 1), A = ±1, with A = L in the group and A random
    elsewhere. Labels are 1 with probability `majority` outside and 1/2 inside. So the Bayes rule is
    1 outside and the sign on the second axis inside: (1 - share) majority + share Φ(s).
    """
    check_size(n, d, least=2)
    check_separation(separation)
    if not 0 < share < 1:
        raise UserError(f"share must be above 0 and below 1, not {share}")
    if not 0.5 < majority < 1:
        raise UserError(f"majority must be above 0.5 and below 1, not {majority}")
    rng = np.random.default_rng(seed)
    outside = (1 - share) / 2 * np.array([1 - majority, majority])
    cells = np.concatenate([outside, outside, [share / 2, share / 2]])
    cell, split = deal(n, cells, rng)
    label, inside = cell % 2, cell >= 4
    shown = np.where(inside, label, cell // 2)
    at = np.stack(
        [
            6.0 * inside + rng.uniform(-math.sqrt(3), math.sqrt(3), n),
            separation * _sign(shown) + rng.standard_normal(n),
        ],
        axis=1,
    )
    bayes = (1 - share) * majority + share * below(separation)
    return _world(at, d, label, split, bayes, ~inside | (at[:, 1] > 0), rng)


@_planted
def sine(
    n: int = 20_000, *, d: int = 8, periods: int = 4, flip: float = 0.1, seed: int = 0
) -> World:
    """The label is the sign of a fast sine of one feature.

    x_1 is uniform in ±√3, where the sine has `periods` periods, shifted by a quarter of a period.
    It is even in x_1, so both classes have the same mean. A share `flip` of the labels is inverted,
    so the Bayes accuracy is 1 - flip. Trees that cut a feature into 255 bins misread about half a
    bin per period, 0.2 % of the records, so there cannot be many periods.
    """
    check_size(n, d, least=1)
    _check_flip(flip)
    if periods < 1:
        raise UserError(f"periods must be at least 1, not {periods}")
    rng = np.random.default_rng(seed)
    shown, turned, split = _deal_flips(n, 2, flip, rng)
    # in periods; the sine peaks at whole numbers and is above zero for a quarter about them
    at = rng.integers(periods, size=n) + rng.uniform(-0.25, 0.25, n) + 0.5 * (1 - shown)
    at = math.sqrt(3) * (2 * (at % periods) / periods - 1)
    return _world(at[:, None], d, shown ^ turned, split, 1 - flip, shown, rng, turned=False)


@_planted
def variance(n: int = 16_000, *, d: int = 8, ratio: float = 5.0, seed: int = 0) -> World:
    """The label changes the variance along one axis; the mean is the same.

    x_1 ~ N(0, σ²), with σ = 1/√r for label 0 and √r for 1, r = ratio. The densities cross where
    x_1² = t² = 2 r log r / (r² - 1); beyond that the Bayes rule says 1:
    accuracy Φ(t √r) - 1/2 + Φ(-t / √r).
    """
    check_size(n, d, least=1)
    if not 1 < ratio < math.inf:
        raise UserError(f"ratio must be finite and above 1, not {ratio}")
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(2, 0.5), rng)
    root = math.sqrt(ratio)
    at = root ** _sign(label) * rng.standard_normal(n)
    edge = math.sqrt(2 * math.log(ratio) * ratio / (ratio**2 - 1))
    bayes = below(edge * root) - 0.5 + below(-edge / root)
    return _world(at[:, None], d, label, split, bayes, np.abs(at) > edge, rng)


@_planted
def identity(
    n: int = 20_000, *, d: int = 8, people: int = 100, flip: float = 0.1, seed: int = 0
) -> World:
    """The label is a hash of the person: nothing that people share reveals it.

    Each person is a ball about a centre drawn from N(0, I), so small that no two touch. Everyone
    has the same number of records. The half of the people with the lowest hashes have label 1. A
    share `flip` of the labels of each person is inverted, so the Bayes accuracy is 1 - flip.
    """
    check_size(n, d, least=1)
    _check_flip(flip)
    if people < 2:
        raise UserError(f"people must be at least 2, not {people}")
    if round(0.2 * n) < people:
        raise UserError(f"n = {n} is too few for {people} people in every split; 5 each or more")
    rng = np.random.default_rng(seed)
    # dealt in the order of the hashes, so that each label has its exact count as well
    hashed = sorted(range(people), key=lambda who: sha256(f"{seed}/{who}".encode()).digest())
    rank, turned, split = _deal_flips(n, people, flip, rng)
    bit = (rank < people // 2).astype(np.int64)
    centres = rng.standard_normal((people, d))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2) + np.diag(np.full(people, np.inf))
    radius = 0.45 * gaps.min() * rng.uniform(size=(n, 1)) ** (1 / d)  # uniform in the ball
    at = centres[hashed][rank] + radius * _directions(n, d, rng)
    return _world(at, d, bit ^ turned, split, 1 - flip, bit, rng)


@_planted
def pairs(n: int = 16_000, *, d: int = 8, correlation: float = 0.9, seed: int = 0) -> World:
    """The label is the sign of the correlation of two features; each alone is N(0, 1).

    x_1, x_2 have correlation ρ L, so the log odds are 2 ρ x_1 x_2 / (1 - ρ²) and the Bayes rule
    is x_1 x_2 > 0. It is right with probability 1/2 + arcsin(ρ) / π (Sheppard).
    """
    check_size(n, d, least=2)
    if not 0 < correlation < 1:
        raise UserError(f"correlation must be above 0 and below 1, not {correlation}")
    rng = np.random.default_rng(seed)
    label, split = deal(n, np.full(2, 0.5), rng)
    at = rng.standard_normal((n, 2))
    at[:, 1] = correlation * _sign(label) * at[:, 0] + math.sqrt(1 - correlation**2) * at[:, 1]
    bayes = 0.5 + math.asin(correlation) / math.pi
    return _world(at, d, label, split, bayes, at.prod(axis=1) > 0, rng, turned=False)


def _world(
    at: Array,
    d: int,
    label: Labels,
    split: list[str],
    bayes: float,
    guess: npt.NDArray[np.bool_] | Labels,
    rng: np.random.Generator,
    *,
    turned: bool = True,
) -> World:
    """Coordinates (n, k) on k random axes, or on k random features; the rest is N(0, 1)."""
    n, k = at.shape
    x = np.concatenate([at, rng.standard_normal((n, d - k))], axis=1)
    basis = rotation(d, rng) if turned else np.eye(d)[:, rng.permutation(d)]
    table = pa.table({"label": [str(value) for value in label], "split": split})
    return World(
        (x @ basis.T).astype(np.float32),
        table,
        {"label": bayes},
        basis[:, :k].T,
        {"label": guess.astype(np.int64)},
    )


def _deal_flips(
    n: int, cells: int, flip: float, rng: np.random.Generator
) -> tuple[Labels, Labels, list[str]]:
    """The cell of each record, and whether (1 or 0) its label is inverted: a share `flip` of each.

    All unflipped cells are dealt before all flipped ones. If the two were side by side in every
    cell, the rounding of many small cells would go one way, and the share would not be `flip`.
    """
    both, split = deal(n, np.repeat([(1 - flip) / cells, flip / cells], cells), rng)
    return both % cells, both // cells, split


def _sign(bit: Labels) -> Array:
    """L: -1 for 0, 1 for 1."""
    return np.where(bit == 1, 1.0, -1.0)


def _directions(n: int, d: int, rng: np.random.Generator) -> Array:
    """Uniform on the sphere, (n, d)."""
    x = rng.standard_normal((n, d))
    unit: Array = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit


def _check_flip(flip: float) -> None:
    if not 0 <= flip < 0.5:
        raise UserError(f"flip must be at least 0 and below 0.5, not {flip}")
