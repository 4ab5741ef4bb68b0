from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from contracts.attacker import AttackerContract
from support import of_world
from withhold.audit.attackers.logistic import Logistic
from withhold.audit.feature_views import FeatureViews
from withhold.datasets.worlds import gaussian


class TestLogistic(AttackerContract):
    linear = True

    def make(self):
        return Logistic()

    def test_its_log_odds_are_those_of_the_model_that_generated_the_data(self):
        """x = s S a + N(0, I) has log odds 2 s aᵀx: a logistic regression is the Bayes rule."""
        world = gaussian.two_attributes(
            6000, 4, separation_suppress=1.0, separation_preserve=0.0, seed=3
        )
        data = of_world(world)
        test = data.part("test").x
        logits = self.fit(data, "secret").logits(test)
        true = 2.0 * test @ world.axes[0]
        assert np.corrcoef(logits[:, 1] - logits[:, 0], true)[0, 1] > 0.99
        assert np.polyfit(true, logits[:, 1] - logits[:, 0], 1)[0] == pytest.approx(1, abs=0.15)

    def test_one_strength_is_that_of_sklearn(self):
        data = of_world(gaussian.many_classes(1000, 6, 3, separation=2.0))
        train, val = data.part("train"), data.part("val")
        seen = FeatureViews.of(train.x).see("standard", train.x)
        codes = train.attribute("label").codes
        one = Logistic(strengths=(0.3,)).fit(
            seen,
            train.attribute("label"),
            seen[:9],
            val.attribute("label").rows(np.arange(9)),
            seed=0,
        )
        other = LogisticRegression(C=0.3 * 1000 / len(codes), tol=1e-3, max_iter=150)
        log_p = one.logits(seen)
        log_p = log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))
        assert np.allclose(np.exp(log_p), other.fit(seen, codes).predict_proba(seen), atol=1e-3)
