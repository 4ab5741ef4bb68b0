"""The generated census: its columns, and how well sex can be read from its proxies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from withhold.core.errors import UserError
from withhold.datasets.worlds import census, census_bayes, census_posterior
from withhold.datasets.worlds.census import EDUCATIONS, OCCUPATIONS, REGIONS


def male(table: pa.Table) -> np.ndarray:
    return np.array(table["sex"].to_pylist()) == "male"


def test_columns_are_of_many_kinds() -> None:
    table = census(5000)
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["age"] == kinds["hours_per_week"] == kinds["capital_gain"] == pa.int64()
    assert kinds["commute_minutes"] == pa.float64()
    assert kinds["owns_home"] == pa.bool_()
    assert kinds["joined"] == pa.date32()
    assert set(table["region"].to_pylist()) == set(REGIONS)
    assert set(table["education"].to_pylist()) == set(EDUCATIONS)
    assert set(table["occupation"].to_pylist()) == set(OCCUPATIONS)
    assert len(OCCUPATIONS) == 12
    assert len(set(table["postcode_area"].to_pylist())) == 100
    assert 0.02 < table["commute_minutes"].null_count / 5000 < 0.2
    assert sum(v == 0 for v in table["capital_gain"].to_pylist()) > 4000
    assert table.num_rows == 5000


def test_the_seed_decides_everything() -> None:
    assert census(300, seed=3).equals(census(300, seed=3))
    assert not census(300, seed=3).equals(census(300, seed=4))
    with pytest.raises(UserError, match="people must be at least 1, not 0"):
        census(0)


def test_the_posterior_is_that_of_the_data() -> None:
    """Among rows with posterior p, a share p are men: in every tenth, and over all."""
    table = census(100_000, seed=5)
    p, truth = census_posterior(table), male(table)
    for part in np.array_split(np.argsort(p), 10):
        error = np.sqrt((p[part] * (1 - p[part])).mean() / len(part))
        assert abs(truth[part].mean() - p[part].mean()) < 4 * error
    right = ((p > 0.5) == truth).mean()
    assert right == pytest.approx(census_bayes(), abs=0.005)
    assert truth.mean() == pytest.approx(0.52, abs=0.01)


@pytest.mark.parametrize("proxy", ["occupation", "marital_status", "size_code", "hours_per_week"])
def test_every_proxy_is_needed_for_the_posterior(proxy: str) -> None:
    """Without what one proxy tells (its column shuffled), the rule is less often right."""
    table = census(40_000, seed=6)
    order = np.random.default_rng(0).permutation(table.num_rows)
    place = table.column_names.index(proxy)
    shuffled = table.set_column(place, proxy, table[proxy].take(pa.array(order)))
    right = [((census_posterior(t) > 0.5) == male(table)).mean() for t in (table, shuffled)]
    assert right[1] < right[0] - 0.002


def test_trees_read_sex_nearly_as_well_as_can_be() -> None:
    frame = census(12_000, seed=7).to_pandas()
    truth = frame.pop("sex").to_numpy()
    frame["joined"] = pd.to_datetime(frame["joined"]).astype("int64")
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category")
    model = HistGradientBoostingClassifier(max_iter=60, categorical_features="from_dtype")
    right = model.fit(frame[:9000], truth[:9000]).score(frame[9000:], truth[9000:])
    assert right > 0.85
    assert census_bayes() - 0.03 < right < census_bayes() + 0.02
