from __future__ import annotations

import numpy as np
import pytest

from contracts.attacker import AttackerContract, simple
from withhold.audit.attackers.nearest import Nearest
from withhold.bench.process_memory import figure_of
from withhold.records.attribute import Attribute


class TestNearest(AttackerContract):
    way = 0.8  # fifty votes of records in twelve dimensions are no Bayes rule

    def make(self):
        return Nearest()

    def test_one_neighbour_knows_what_it_has_seen(self):
        """Labels that follow no rule at all: only memory reads them."""
        rng = np.random.default_rng(0)
        spots = rng.standard_normal((150, 5)).astype(np.float32)
        label = rng.integers(0, 3, 150)
        order = rng.permutation(1500)  # else each spot would be in one part only
        x, codes = np.tile(spots, (10, 1))[order], np.tile(label, 10)[order]
        x = x + 1e-3 * rng.standard_normal(x.shape)
        assert self.read(simple(x, codes)) == 1.0

    def test_neighbours_are_those_of_a_search_by_hand(self):
        rng = np.random.default_rng(1)
        x, asked = rng.standard_normal((2, 300, 4)).astype(np.float32)
        label = Attribute("a", "categorical", ("0", "1"), rng.integers(0, 2, 300))
        fitted = Nearest(neighbours=(5,)).fit(x, label, asked, label.rows(np.arange(300)), seed=0)
        near = np.concatenate(list(fitted.neighbours(asked)))
        distance = np.linalg.norm(asked[:, None] - x[None], axis=2)
        assert np.array_equal(near, np.argsort(distance, axis=1)[:, :5])

    def test_fewer_records_than_neighbours(self):
        x = np.float32([[0], [1], [10], [11]])
        label = Attribute("a", "categorical", ("0", "1"), np.array([0, 0, 1, 1]))
        fitted = Nearest(neighbours=(50,)).fit(x, label, x, label, seed=0)
        assert np.isfinite(fitted.logits(x)).all()

    def test_of_records_that_are_all_alike_those_vote_that_val_judged(self):
        """A release of few codes: how ties are broken must not depend on how many vote."""
        rng = np.random.default_rng(2)
        x = np.ones((400, 2), np.float32)
        label = Attribute("a", "categorical", ("0", "1"), (rng.random(400) < 0.3).astype(int))
        for k in (1, 5, 15):
            one = Nearest(neighbours=(k, 50)).fit(x, label, x, label, seed=0)
            near = np.concatenate(list(one.neighbours(x[:3])))
            assert np.array_equal(one.logits(x[:3]), one.votes(near[:, : one.k]))
            assert (one.logits(x).argmax(axis=1) == 0).all()


HELD = """
import numpy as np
from withhold.audit.attackers.nearest import NearestPrediction
x = np.random.default_rng(0).standard_normal((40_000, 8)).astype(np.float32)
model = NearestPrediction(x, np.zeros(len(x), np.int64), 2, np.zeros(2, np.float32), 50, 50)
before = peak()
held = list(model.neighbours(x[:10_000]))
print((peak() - before) / 2**20)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_records_that_are_asked_for() -> None:
    """100 blocks of 16 MB. With a new buffer for each block, none of them could be freed."""
    assert figure_of(HELD) < 300  # MiB
