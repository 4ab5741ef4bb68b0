"""Codes are no hash of the labels: another key changes them as much as another label does."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from support import Recorder, key_of
from withhold.core.keyed import secret_seed
from withhold.methods import Journal
from withhold.methods.features.exact import ExactConfig, ExactMethod
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def world(seed: int, n: int) -> tuple[Floats, Ints]:
    """Records (n, 6) of two classes, and the classes."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    return (rng.normal(size=(n, 6)) + 0.7 * sex[:, None]).astype(np.float32), sex


def codes(x: Floats, sex: Ints, key: int) -> Floats:
    """The code vectors of a fit with the public seed 0."""
    journal = Journal()
    journal.use_key(key_of(key))
    data = Dataset.from_arrays(x, {"sex": [f"s{v}" for v in sex]})
    settings = ExactConfig(scores="metric", codes=16)
    made = ExactMethod().fit(data, Roles.of("sex"), settings, Recorder(), seed=0, journal=journal)
    return made.codes


def apart(one: Floats, two: Floats) -> float:
    """The mean distance of two sets of codes, each paired with its nearest."""
    far = cdist(one, two)
    return float(far[linear_sum_assignment(far)].mean())


def test_a_wrong_guess_is_no_farther_than_another_key() -> None:
    x, sex = world(1, 200)
    flipped = sex.copy()
    flipped[7] = 1 - flipped[7]
    released = codes(x, sex, 1)
    right = [apart(released, codes(x, sex, key)) for key in (2, 3, 4)]
    wrong = [apart(released, codes(x, flipped, key)) for key in (2, 3, 4)]
    assert np.mean(right) > 0.8 * np.mean(wrong)


@pytest.mark.slow
def test_the_last_two_labels_are_not_found_by_learning_again() -> None:
    """The right guess is first of four in a quarter of the worlds; with a known seed, in nearly all
    of them."""
    first = 0
    for seed in range(24):
        x, sex = world(seed, 300)
        unknown = np.random.default_rng(seed).choice(300, 2, replace=False)
        released, far = codes(x, sex, 100 + seed), {}
        for i, guess in enumerate(product((0, 1), repeat=2)):
            guessed = sex.copy()
            guessed[unknown] = guess
            far[guess] = apart(released, codes(x, guessed, 1000 + 4 * seed + i))
        first += min(far, key=lambda g: far[g]) == tuple(sex[unknown].tolist())
    assert first <= 13  # by chance 6; 14 or more happen once in 2,000 times


def test_a_seed_belongs_to_its_key() -> None:
    found = {secret_seed(key_of(k), seed) for k in (1, 2) for seed in (0, 1)}
    assert len(found) == 4
    assert secret_seed(key_of(1), 0) == secret_seed(key_of(1), 0)
    assert all(0 <= v < 2**63 for v in found)
