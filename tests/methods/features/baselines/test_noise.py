"""Keyed noise: as much as asked, and the same for the same record."""

from __future__ import annotations

import numpy as np
import pytest

from support import key_of, of_world
from withhold.actions.fit import fit_bundle
from withhold.datasets.worlds import no_leak
from withhold.methods.features.baselines.noise import NoiseModifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@pytest.fixture(scope="module")
def data() -> Dataset:
    world = no_leak(3000, 6, 2)
    scaled = world.x * np.array([1, 10, 0.1, 1, 1, 0], np.float32) + 3
    return Dataset.from_arrays(scaled, world.attributes)


def noise(data: Dataset, *, sigma: float = 1.0, seed: int = 0) -> NoiseModifier:
    bundle = fit_bundle(
        data,
        Roles.of("label"),
        method="noise",
        config={"sigma": sigma},
        seed=seed,
        key=key_of(seed),
    )
    assert isinstance(bundle.modifier, NoiseModifier)
    return bundle.modifier


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_the_deviation_is_as_asked_and_the_mean_zero(data: Dataset, sigma: float) -> None:
    added = noise(data, sigma=sigma).transform(data.x).astype(np.float64) - data.x
    spread = data.part("train").x.std(axis=0, dtype=np.float64)
    np.testing.assert_allclose(added.std(axis=0), sigma * spread, rtol=0.06, atol=1e-6)
    error = sigma * spread / np.sqrt(len(data))
    assert (np.abs(added.mean(axis=0)) <= 4 * error + 1e-6).all()


def test_the_noise_is_normal_and_its_features_unrelated(data: Dataset) -> None:
    added = (noise(data).transform(data.x) - data.x)[:, :5] / data.x.std(axis=0)[:5]
    assert np.mean(np.abs(added) > 1.96) == pytest.approx(0.05, abs=0.01)
    assert np.mean(added**4) == pytest.approx(3, abs=0.3)
    correlation = np.corrcoef(added.T) - np.eye(5)
    assert np.abs(correlation).max() < 0.08


def test_none_is_none(data: Dataset) -> None:
    np.testing.assert_array_equal(noise(data, sigma=0).transform(data.x), data.x)


def test_the_same_record_gets_the_same_noise(data: Dataset) -> None:
    modifier = noise(data)
    twice = np.concatenate([data.x[:5], data.x[:5]])
    out = modifier.transform(twice)
    np.testing.assert_array_equal(out[:5], out[5:])


def test_asking_often_averages_nothing_out(data: Dataset) -> None:
    many = np.repeat(data.x[:1], 100, axis=0)
    out = noise(data).transform(many)
    assert len(np.unique(out, axis=0)) == 1


def test_another_key_gives_other_noise(data: Dataset) -> None:
    one, other = (noise(data, seed=s).transform(data.x) - data.x for s in (0, 1))
    assert abs(np.corrcoef(one[:, 0], other[:, 0])[0, 1]) < 0.08


def test_a_record_a_hair_apart_gets_unrelated_noise(data: Dataset) -> None:
    modifier = noise(data)
    near = data.x.copy()
    near[:, 0] = np.nextafter(near[:, 0], np.float32(np.inf))
    one, other = modifier.transform(data.x) - data.x, modifier.transform(near) - near
    assert abs(np.corrcoef(one[:, 1], other[:, 1])[0, 1]) < 0.08


def test_the_deviation_is_that_of_the_training_part() -> None:
    world = of_world(no_leak(500, 3, 2))
    test = world.parts == "test"
    loud = world.x.copy()
    loud[test] *= 100
    other = Dataset.from_arrays(loud, world.table)
    np.testing.assert_array_equal(noise(world).scale, noise(other).scale)
