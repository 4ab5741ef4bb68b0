"""A pandas frame comes back with the types that went in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from support import Recorder
from withhold.actions.release import release
from withhold.learn.nets.device import threads
from withhold.release.frame_types import types_of, with_types

N = 300


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    female = rng.random(N) < 0.5
    made = pd.DataFrame(
        {
            "sex": np.where(female, "f", "m"),
            "size": pd.Categorical(
                rng.choice(["S", "M", "L"], N), categories=["S", "M", "L", "XL"], ordered=True
            ),
            "kids": pd.array(rng.integers(0, 4, N), dtype="Int64"),
            "small": rng.integers(0, 100, N).astype("int8"),
            "flag": pd.array(rng.random(N) < 0.3, dtype="boolean"),
            "town": pd.array(rng.choice(["Köln", "Ulm", "東京"], N), dtype="string"),
            "seen": pd.date_range("2021-01-01", periods=N, freq="h", tz="Europe/Berlin"),
            "grade": pd.cut(rng.normal(size=N) + female, [-9.0, 0.0, 1.0, 9.0]),
            "empty": [None] * N,
        }
    )
    for name, share in (("size", 0.1), ("kids", 0.2), ("flag", 0.3), ("town", 0.1), ("seen", 0.4)):
        made.loc[rng.random(N) < share, name] = None
    return made


def test_types_order_and_missing_values_come_back(frame: pd.DataFrame) -> None:
    with threads(1):
        made = release(frame, suppress="sex", config={"codes": 6}, progress=Recorder())
    after = made.to_pandas()
    assert list(after.columns) == [c for c in frame.columns if c != "sex"]
    for name in ("kids", "small", "flag", "town", "seen", "empty"):
        assert after[name].dtype == frame[name].dtype, name
    for name in after.columns:
        assert after[name].isna().mean() == pytest.approx(frame[name].isna().mean(), abs=0.1), name
    assert after["size"].cat.ordered
    # XL is a category of no row; it could be the name of someone who was removed.
    assert list(after["size"].cat.categories) == ["S", "M", "L"]
    assert list(after["grade"].cat.categories) == ["(-9.0, 0.0]", "(0.0, 1.0]", "(1.0, 9.0]"]


def test_values_that_a_type_cannot_hold_stay_as_they_are() -> None:
    after = with_types(pd.DataFrame({"a": ["x", "y"]}), {"a": np.dtype("int64")})
    assert after["a"].tolist() == ["x", "y"]


def test_other_data_has_no_pandas_types() -> None:
    assert types_of("people.csv") == {}
    assert types_of(None) == {}
