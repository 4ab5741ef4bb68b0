"""The leakage score: known answers, what it is asked of, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from withhold import Suppressor, leakage_scorer
from withhold.core.errors import UserError

N = 600


class Passes:
    """An estimator that releases its input."""

    def transform(self, x: Any) -> Any:
        return x


def leaking(share: float, *, majority: float = 0.5, seed: int = 0) -> tuple[np.ndarray, Any]:
    """A feature that tells the label of a share of the records, and is a coin for the others."""
    rng = np.random.default_rng(seed)
    secret = rng.random(N) < majority
    told = np.where(rng.random(N) < share, secret, rng.random(N) < majority)
    x = np.column_stack([told, rng.standard_normal((N, 3))])
    return x, pd.DataFrame({"secret": np.where(secret, "yes", "no")})


def score(x: np.ndarray, frame: Any) -> float:
    return leakage_scorer("secret")(Passes(), x, attributes=frame)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_known_answers(share: float) -> None:
    """An attacker is right in share + (1 - share) / 2, which is share / 2 above the coin."""
    assert score(*leaking(share)) == pytest.approx(-share / 2, abs=0.06)


def test_it_counts_from_the_commonest_class() -> None:
    """Nine of ten are 'yes': right in 90 of 100 without looking, so that nothing leaks."""
    assert score(*leaking(0.0, majority=0.9)) == pytest.approx(0, abs=0.01)
    assert score(*leaking(1.0, majority=0.9)) == pytest.approx(-0.1, abs=0.03)


def test_what_is_not_linear_is_seen_too() -> None:
    rng = np.random.default_rng(1)
    x = rng.choice([-1.0, 1.0], (N, 2)) + 0.1 * rng.standard_normal((N, 2))
    assert score(x, {"secret": (x[:, 0] * x[:, 1] > 0).tolist()}) < -0.4


def test_missing_labels_do_not_count_and_the_seed_decides() -> None:
    x, frame = leaking(0.5)
    gone = frame.assign(secret=frame["secret"].where(np.arange(N) % 3 > 0, None))
    assert score(x, gone) == score(x[np.arange(N) % 3 > 0], frame[np.arange(N) % 3 > 0])
    again = [leakage_scorer("secret", seed=s)(Passes(), x, attributes=frame) for s in (1, 1, 2)]
    assert again[0] == again[1]


def test_the_release_is_what_leaves_the_suppressor() -> None:
    """A pipeline that goes on after the suppressor is scored by what the suppressor gives."""
    x, frame = leaking(1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        hide = Suppressor("secret", method="constant").set_fit_request(attributes=True)
        back = FunctionTransformer(lambda _: x)  # would give it all back
        pipe = make_pipeline(StandardScaler(), hide, back).fit(x, attributes=frame)
        assert leakage_scorer("secret")(pipe, x, attributes=frame) == 0
        bare = make_pipeline(StandardScaler()).fit(x)
        assert leakage_scorer("secret")(bare, x, attributes=frame) < -0.4


@pytest.mark.parametrize(
    ("method", "least", "most"), [("identity", -0.55, -0.4), ("constant", 0, 0)]
)
def test_cross_validation_by_attribute_and_by_y(method: str, least: float, most: float) -> None:
    x, frame = leaking(1.0)
    how = {"cv": 3, "error_score": "raise"}
    with sklearn.config_context(enable_metadata_routing=True):
        hide = Suppressor("secret", method=method).set_fit_request(attributes=True)
        routed = cross_validate(
            hide, x, params={"attributes": frame}, scoring=leakage_scorer("secret"), **how
        )["test_score"]
    plain = cross_validate(
        Suppressor(method=method), x, frame["secret"], scoring=leakage_scorer(), **how
    )["test_score"]
    for found in (routed, plain):
        assert least <= found.min() <= found.max() <= most


def test_what_cannot_be_scored_is_told() -> None:
    x, frame = leaking(0.5)
    scorer = leakage_scorer("secret")
    assert repr(scorer) == "leakage_scorer('secret', seed=0)"
    for call, message in (
        (lambda: scorer(Passes(), x, frame["secret"]), "y is not used instead.*metadata_routing"),
        (lambda: leakage_scorer()(Passes(), x), "name an attribute"),
        (lambda: scorer(LogisticRegression(), x, attributes=frame), "has no transform"),
        (
            lambda: scorer(Passes(), x[:9], attributes=frame[:9]),
            "9 labels of 'secret'.*fewer folds",
        ),
        (lambda: scorer(Passes(), x, attributes={"secret": ["a"] * N}), "in 1 classes"),
        (lambda: scorer(Passes(), x, attributes={"secert": ["a"] * N}), "did you mean 'secert'"),
        (
            lambda: scorer(Passes(), x, attributes={"secret": [["a"], ["b"]] * 300}),
            "several labels",
        ),
    ):
        with pytest.raises(UserError, match=message):
            call()
