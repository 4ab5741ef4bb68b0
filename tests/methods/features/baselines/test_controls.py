"""`identity`, `constant` and `random-substitute`: the two ends of the scale."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from support import codes, key_of, of_world
from withhold.actions.fit import fit_bundle
from withhold.datasets.worlds import full_leak
from withhold.methods.modifier import Modifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@pytest.fixture(scope="module")
def data() -> Dataset:
    return of_world(full_leak(1000, 8, 4, seed=0))


def fit(data: Dataset, method: str, *, seed: int = 0, **config: object) -> Modifier:
    return fit_bundle(
        data, Roles.of("label"), method=method, config=config, seed=seed, key=key_of(seed)
    ).modifier


def attack(data: Dataset, modifier: Modifier) -> float:
    """Test accuracy of a neighbour vote retrained on the release."""
    train, test = data.part("train"), data.part("test")
    model = KNeighborsClassifier(5).fit(modifier.transform(train.x), codes(train, "label"))
    return float(model.score(modifier.transform(test.x), codes(test, "label")))


def test_identity_is_the_original_and_leaks_all(data: Dataset) -> None:
    modifier = fit(data, "identity")
    out = modifier.transform(data.x)
    np.testing.assert_array_equal(out, data.x)
    assert not np.shares_memory(out, data.x)
    assert attack(data, modifier) > 0.98


def test_constant_is_the_training_mean_and_leaks_nothing(data: Dataset) -> None:
    modifier = fit(data, "constant")
    out = modifier.transform(data.x)
    assert len(np.unique(out, axis=0)) == 1
    np.testing.assert_allclose(out[0], data.part("train").x.mean(axis=0), atol=1e-5)
    out[:] = 9  # a fresh array, that the caller may write to
    assert not np.allclose(modifier.transform(data.x[:1]), 9)
    assert attack(data, modifier) < 0.3


def test_substitutes_are_training_records(data: Dataset) -> None:
    train = {row.tobytes() for row in data.part("train").x}
    out = fit(data, "random-substitute").transform(data.x)
    assert {row.tobytes() for row in out} <= train
    assert len(np.unique(out, axis=0)) > 300  # of 600


def test_there_are_as_many_candidates_as_asked(data: Dataset) -> None:
    few = fit(data, "random-substitute", candidates=10).transform(data.x)
    counts = np.unique(few, axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert counts.min() > 60  # each about 100 times
    one = fit(data, "random-substitute", candidates=1).transform(data.x)
    assert len(np.unique(one, axis=0)) == 1


def test_the_candidates_are_drawn_from_all_of_the_training_part(data: Dataset) -> None:
    """Not the first rows: a file is often sorted by what is to be hidden."""
    out = fit(data, "random-substitute", candidates=50).transform(data.x)
    train = data.part("train").x
    place = [int(np.flatnonzero((train == row).all(axis=1))[0]) for row in np.unique(out, axis=0)]
    assert min(place) < 100
    assert max(place) > 500


def test_substitutes_do_not_depend_on_what_the_record_was(data: Dataset) -> None:
    modifier = fit(data, "random-substitute")
    assert attack(data, modifier) < 0.36  # four classes, 200 records
    out = modifier.transform(data.x)
    related = [abs(np.corrcoef(out[:, j], data.x[:, j])[0, 1]) for j in range(data.dimension)]
    assert max(related) < 0.12


def test_another_seed_draws_others(data: Dataset) -> None:
    one, other = (fit(data, "random-substitute", seed=s).transform(data.x) for s in (0, 1))
    assert np.mean((one == other).all(axis=1)) < 0.02
