from __future__ import annotations

import numpy as np

from contracts.attacker import AttackerContract, simple
from withhold.audit.attackers.prior import Prior


class TestPrior(AttackerContract):
    linear = blind = True

    def make(self):
        return Prior()

    def test_it_says_the_shares_of_train_whatever_the_record(self):
        label = np.repeat([0, 1, 2], [600, 300, 100])
        x = np.random.default_rng(0).standard_normal((1000, 2))
        data = simple(x, np.random.default_rng(1).permutation(label))
        shares = np.exp(self.fit(data).logits(x[:7].astype(np.float32)))
        train = data.part("train").attribute("label").counts
        assert np.allclose(shares, train / train.sum(), atol=0.002)
        assert np.allclose(shares.sum(axis=1), 1)
