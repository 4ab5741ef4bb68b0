"""Flat names of settings, and what a search makes of them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from support import TINY
from withhold import Suppressor, leakage_scorer
from withhold.core.errors import UserError
from withhold.datasets.worlds import two_attributes
from withhold.methods import method_names, read_config
from withhold.methods.settings_by_name import flat_settings, with_settings


@pytest.mark.parametrize("method", method_names())
def test_every_setting_can_be_read_and_set_by_its_name(method: str) -> None:
    flat = flat_settings(method, None)
    same = with_settings(method, None, flat)
    assert read_config(method, same) == read_config(method, None)
    assert not {*flat} & {*inspect.signature(Suppressor).parameters}  # no name means two things
    made = Suppressor(method=method)
    assert flat.items() <= made.get_params().items()
    assert not {*flat} & {*made.get_params(deep=False)}


def test_values_are_those_that_count() -> None:
    assert flat_settings("mass", TINY)["contrastive__projection"] == 5
    preset = flat_settings("mass", {"preset": "audiomnist"})
    assert preset != flat_settings("mass", None)
    assert flat_settings("noise", {"sigm": 2}) == {}  # the fit will say what is wrong
    assert flat_settings(None, None) == {}


def test_what_was_given_is_not_changed() -> None:
    given: dict[str, Any] = {"epochs": 3, "contrastive": {"epochs": 2, "batch": 8}}
    new = with_settings("mass", given, {"contrastive__epochs": 9, "batch": 16})
    assert new == {"epochs": 3, "batch": 16, "contrastive": {"epochs": 9, "batch": 8}}
    assert given == {"epochs": 3, "contrastive": {"epochs": 2, "batch": 8}}


def test_an_estimator_takes_settings_by_name() -> None:
    made = Suppressor(config={"rounds": 2}).set_params(codes=32, seed=4)
    assert (made.config, made.seed) == ({"rounds": 2, "codes": 32}, 4)
    assert made.get_params()["codes"] == 32
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    copy.set_params(codes=64)
    assert made.get_params()["codes"] == 32
    # the method is set before its settings, in whatever order they are given
    other = Suppressor().set_params(sigma=2.0, method="noise")
    assert (other.method, other.config) == ("noise", {"sigma": 2.0})


def test_names_that_are_none() -> None:
    with pytest.raises(UserError, match=r"'codebook' has no parameter 'cods'; did .*'codes'"):
        Suppressor().set_params(cods=3)
    with pytest.raises(UserError, match="did you mean 'suppress'"):
        Suppressor().set_params(supress="a")
    with pytest.raises(UserError, match="'noise' has no parameter 'codes'"):
        Suppressor(method="noise").set_params(codes=3)


def test_a_search_in_a_pipeline() -> None:
    world = two_attributes(400, 6, separation_suppress=2, separation_preserve=2)
    frame = world.attributes.to_pandas().drop(columns="split")
    with sklearn.config_context(enable_metadata_routing=True):
        hide = Suppressor("secret", method="noise").set_fit_request(attributes=True)
        pipe = Pipeline([("suppressor", hide), ("read", LogisticRegression())])
        search = GridSearchCV(
            pipe,
            {"suppressor__sigma": [0.01, 50.0]},
            scoring={"leakage": leakage_scorer("secret"), "useful": "accuracy"},
            refit="useful",
            cv=2,
            error_score="raise",
        ).fit(world.x, frame["useful"], attributes=frame)
    leakage = search.cv_results_["mean_test_leakage"]
    useful = search.cv_results_["mean_test_useful"]
    assert leakage[0] < -0.4 < -0.1 < leakage[1] <= 0
    assert useful[0] > 0.9 > useful[1]
    assert search.best_params_ == {"suppressor__sigma": 0.01}
    assert search.best_estimator_.named_steps["suppressor"].bundle_.config["sigma"] == 0.01
    assert np.isfinite(leakage).all()
