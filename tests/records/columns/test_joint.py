"""Columns that tell of several attributes together and of none alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from withhold.records.attribute import Attribute
from withhold.records.columns.measure_columns import measure_columns

N = 2000


def test_a_column_that_says_whether_two_attributes_are_alike() -> None:
    rng = np.random.default_rng(0)
    g, a, other = rng.integers(0, 2, (3, N))
    gender = Attribute("gender", "categorical", ("f", "m"), g)
    accent = Attribute("accent", "categorical", ("n", "s"), a)
    table = pa.table({"c": g ^ a, "other": other})
    assert measure_columns(table, [gender])["c"].harmless
    found = measure_columns(table, [gender, accent])
    assert found["c"].rule == "tells"
    assert "gender,accent" in found["c"].reason
    assert found["other"].harmless


def test_a_column_that_says_whether_two_labels_are_alike() -> None:
    rng = np.random.default_rng(1)
    tags = rng.integers(0, 2, (N, 5))
    s = Attribute("tags", "multilabel", tuple("abcde"), tags)
    visit = 2 * rng.integers(0, 20, N) + (tags[:, 1] ^ tags[:, 4])
    found = measure_columns(pa.table({"visit": visit, "other": rng.integers(0, 9, N)}), [s])
    assert found["visit"].reason == "reveals 'tags.b,tags.e' jointly"
    assert found["other"].harmless
