from __future__ import annotations

import numpy as np

from contracts.attacker import AttackerContract, simple
from withhold.audit.attackers.trees import Trees, telling
from withhold.records.attribute import Attribute


class TestTrees(AttackerContract):
    way = 0.7  # the worlds are turned at random, and trees cut along the axes
    whole = 0.95
    crowd = 0.6  # of so many classes, few rounds

    def make(self):
        return Trees(rounds=60, budget=4e7)

    def make_brief(self):
        return Trees()

    def test_thresholds_that_no_line_sees(self):
        rng = np.random.default_rng(0)
        x = rng.uniform(-1, 1, (1500, 4))
        label = (np.abs(x[:, 1]) > 0.5).astype(int)
        assert self.read(simple(x, label)) > 0.98

    def test_many_classes_of_many_records_are_declined_with_a_reason(self):
        assert Trees().declines(16_000, 64, 60) is None
        assert Trees().declines(16_000, 64, 1000) == (
            "1,000 classes of 16,000 records are too many for boosted trees"
        )

    def test_of_many_features_the_telling_ones_are_kept(self):
        """The ninetieth is not linear in the label: its bits count, not its correlation."""
        rng = np.random.default_rng(0)
        label = rng.integers(0, 2, 1000)
        x = rng.standard_normal((1000, 100)).astype(np.float32)
        x[:, 17] += 2 * label
        x[:, 90] *= 1 + 3 * label
        attribute = Attribute("a", "categorical", ("0", "1"), label)
        assert {17, 90} <= set(telling(x, attribute, 5).tolist())
        assert telling(x[:, :5], attribute, 5).tolist() == [0, 1, 2, 3, 4]
        assert self.read(simple(x, label)) > 0.9
