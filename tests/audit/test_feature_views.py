from __future__ import annotations

import numpy as np
import pytest

from withhold.audit.feature_views import WIDEST, FeatureViews


def drawn(n=600, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) * 10.0 ** rng.integers(-4, 5, d) + 7).astype(np.float32)


def test_the_standard_view_has_mean_zero_and_unit_variance_feature_by_feature():
    x = drawn()
    seen = FeatureViews.of(x).see("standard", x)
    assert seen.dtype == np.float32
    assert np.allclose(seen.mean(axis=0), 0, atol=1e-2)
    assert np.allclose(seen.std(axis=0), 1, atol=0.05)  # the outermost per cent is not asked


def test_others_are_seen_with_the_statistics_of_train():
    x = drawn()
    views = FeatureViews.of(x[:300])
    whole = views.see("standard", x)
    assert np.array_equal(whole[300:], views.see("standard", x[300:]))
    moved = views.see("standard", x + 5 * x[:300].std(axis=0))
    assert np.allclose(moved - whole, 5, atol=0.25)


@pytest.mark.parametrize("value", [0.0, 1 / 3, -1e6, 1e30])
def test_a_feature_that_never_moves_stays_still(value):
    x = np.full((500, 2), value, np.float32)
    seen = FeatureViews.of(x).see("standard", x)
    assert np.isfinite(seen).all()
    assert np.ptp(seen) == 0


def test_a_small_feature_beside_large_ones_is_as_large_as_they_are():
    x = np.column_stack([1e6 * np.arange(100), 1e-6 * np.arange(100)]).astype(np.float32)
    assert FeatureViews.of(x).see("standard", x).std(axis=0) == pytest.approx([1, 1], abs=1e-3)


def test_few_features_are_not_reduced():
    x = drawn()
    views = FeatureViews.of(x)
    assert np.array_equal(views.see("reduced", x), views.see("standard", x))


@pytest.mark.parametrize("d", [300, 2100])
def test_many_features_are_reduced_to_their_main_directions(d):
    """Records on a plane keep their distances, in proportion."""
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((400, 5)) @ rng.standard_normal((5, d))
    x = (flat + 1e-3 * rng.standard_normal((400, d))).astype(np.float32)
    views = FeatureViews.of(x)
    seen, whole = views.see("reduced", x), views.see("standard", x)
    assert seen.shape == (400, WIDEST)
    rows = rng.integers(0, 400, (2, 50))
    near = np.linalg.norm(seen[rows[0]] - seen[rows[1]], axis=1)
    far = np.linalg.norm(whole[rows[0]] - whole[rows[1]], axis=1)
    assert np.corrcoef(near, far)[0, 1] > 0.999
    assert np.square(seen).mean() == pytest.approx(1, abs=0.05)
    again = FeatureViews.of(x).see("reduced", x)
    assert np.array_equal(seen, again)


def test_one_record_far_out_does_not_press_the_others_together():
    """A sensor's error, or a release that means to blind its auditor."""
    x = drawn()
    wild = x.copy()
    wild[7] = 1e12
    plain, seen = FeatureViews.of(x).see("standard", x), FeatureViews.of(wild).see("standard", wild)
    others = np.arange(len(x)) != 7
    assert np.allclose(seen[others], plain[others], atol=0.1)
    assert np.isfinite(seen).all()
    assert seen[7].min() > np.abs(plain).max()  # it is still the largest
    assert seen[7].max() < 100


def test_few_records_have_the_directions_of_the_large_matrix():
    """Products of records give what the matrix of features gives, up to the sign of a direction."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 40)) @ rng.standard_normal((40, 300)) + 3
    views = FeatureViews.of(x.astype(np.float32))
    seen = views.see("reduced", x.astype(np.float32))
    z = views.see("standard", x.astype(np.float32)).astype(np.float64)
    values, vectors = np.linalg.eigh(z.T @ z / len(z))
    values, vectors = values[::-1][:WIDEST], vectors[:, ::-1][:, :WIDEST]
    whole = z @ vectors / np.sqrt(np.clip(values, 0, None).mean())
    told = seen.shape[1]
    assert 40 <= told <= 60
    assert np.abs(whole[:, told:]).max() < 1e-3  # nothing is lost
    signs = np.sign((whole[:, :40] * seen[:, :40]).sum(axis=0))
    assert np.allclose(seen[:, :40] * signs, whole[:, :40], atol=1e-3)


def test_few_records_that_are_all_equal_have_a_view():
    x = np.full((5, 400), 2.5, np.float32)
    seen = FeatureViews.of(x).see("reduced", x)
    assert np.isfinite(seen).all()
    assert seen.shape == (5, 1)
