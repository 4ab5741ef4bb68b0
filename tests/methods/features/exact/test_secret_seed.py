"""Codes are no hash of the labels: another key changes them as much as another label does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from support import Recorder, key_of
from withhold.core.keyed import secret_seed
from withhold.methods import Journal
from withhold.methods.features.exact import ExactConfig, ExactMethod
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

Floats = npt.NDArray[np.float32]
N = 200
RNG = np.random.default_rng(1)
SEX = RNG.integers(0, 2, N)
X = (RNG.normal(size=(N, 6)) + 0.7 * SEX[:, None]).astype(np.float32)


def codes(sex: npt.NDArray[np.int64], key: int) -> Floats:
    """The code vectors of a fit with the public seed 0."""
    journal = Journal()
    journal.use_key(key_of(key))
    data = Dataset.from_arrays(X, {"sex": [f"s{v}" for v in sex]})
    settings = ExactConfig(scores="metric", codes=16)
    made = ExactMethod().fit(data, Roles.of("sex"), settings, Recorder(), seed=0, journal=journal)
    return made.codes


def apart(one: Floats, two: Floats) -> float:
    """The mean distance of two sets of codes, each paired with its nearest."""
    far = cdist(one, two)
    return float(far[linear_sum_assignment(far)].mean())


def test_a_wrong_guess_is_no_farther_than_another_key() -> None:
    flipped = SEX.copy()
    flipped[7] = 1 - flipped[7]
    released = codes(SEX, 1)
    right = [apart(released, codes(SEX, key)) for key in (2, 3, 4)]
    wrong = [apart(released, codes(flipped, key)) for key in (2, 3, 4)]
    assert np.mean(right) > 0.8 * np.mean(wrong)


def test_a_seed_belongs_to_its_key() -> None:
    found = {secret_seed(key_of(k), seed) for k in (1, 2) for seed in (0, 1)}
    assert len(found) == 4
    assert secret_seed(key_of(1), 0) == secret_seed(key_of(1), 0)
    assert all(0 <= v < 2**63 for v in found)
