from __future__ import annotations

import numpy as np
import pytest

from withhold.audit.picture import SHOWN, distortion, draw_map, flat, shown
from withhold.records.attribute import Attribute


def test_distortion_is_the_mean_euclidean_distance():
    x = np.random.default_rng(0).standard_normal((200, 3)).astype(np.float32)
    moved = distortion(x, x + np.float32([3, 4, 0]))
    assert moved.mean == pytest.approx(5, rel=1e-5)
    spread = np.linalg.norm(x - x.mean(axis=0), axis=1).mean()
    assert moved.relative == pytest.approx(5 / spread, rel=1e-5)
    assert sum(moved.counts) == 200
    assert len(moved.edges) == len(moved.counts) + 1
    still = distortion(x, x)
    assert still.mean == still.relative == 0
    assert sum(still.counts) == 200


def test_the_distance_of_huge_features_is_a_number():
    x = np.full((50, 3), 1e30, np.float32)
    assert distortion(x, -x).mean == pytest.approx(2e30 * np.sqrt(3), rel=1e-6)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (20, 2), (60, 1), (60, 8), (60, 300)])
def test_a_map_lies_in_the_unit_square(n, d):
    x = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    points = np.array(flat(x, seed=0))
    assert points.shape == (n, 2)
    assert points.min() >= 0
    assert points.max() <= 1
    assert flat(x, seed=0) == flat(x, seed=0)


def test_a_map_of_what_is_all_alike():
    points = np.array(flat(np.ones((80, 4), np.float32), seed=0))
    assert np.isfinite(points).all()


def test_a_map_shows_that_clusters_are_apart():
    rng = np.random.default_rng(0)
    label = np.arange(120) % 2
    x = rng.standard_normal((120, 6)) + 20 * label[:, None]
    points = np.array(flat(x.astype(np.float32), seed=0))
    centres = [points[label == k].mean(axis=0) for k in (0, 1)]
    own = np.linalg.norm(points - np.stack(centres)[label], axis=1).max()
    assert np.linalg.norm(centres[0] - centres[1]) > own


def test_of_many_test_records_some_are_shown():
    test = np.arange(3000) * 2
    rows = shown(test, 0)
    assert len(rows) == SHOWN
    assert set(rows) < set(test)
    assert np.array_equal(shown(test[:50], 0), test[:50])


def test_a_map_carries_the_classes_of_its_records():
    label = Attribute("a", "categorical", ("x", "y"), np.array([0, 1, -1, 1]))
    several = Attribute("t", "multilabel", ("x", "y"), np.zeros((4, 2), np.int64))
    points = ((0.0, 0.0), (1.0, 1.0))
    found = draw_map(points, None, {"a": label, "t": several}, np.array([3, 2]))
    assert found.labels == {"a": (1, -1)}
    assert found.classes == {"a": ("x", "y")}
    assert found.release is None
