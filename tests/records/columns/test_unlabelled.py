"""Columns on records that have no label of the suppressed attribute."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.attribute import Attribute
from withhold.records.columns.measure_columns import measure_columns

N = 2000


def world(missing: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Attribute]:
    rng = np.random.default_rng(seed)
    s, gone = rng.integers(0, 2, N), rng.random(N) < missing
    return s, gone, Attribute("gender", "categorical", ("f", "m"), np.where(gone, -1, s))


def test_a_column_that_is_filled_where_the_label_is_missing() -> None:
    s, gone, gender = world(0.3)
    told = pa.array([("fm"[v] if g else None) for v, g in zip(s, gone, strict=True)])
    found = measure_columns(pa.table({"self_described": told}), [gender])["self_described"]
    assert found.rule == "unchecked"
    assert f"{gone.sum()} rows without a label of 'gender' have values that no" in found.reason


def test_text_that_is_there_where_the_label_is_missing() -> None:
    """Many different values: they are all new, and that they are there says enough."""
    _, gone, gender = world(0.3)
    note = pa.array([f"note {i} of {i % 700}" if g else None for i, g in enumerate(gone)])
    assert not measure_columns(pa.table({"note": note}), [gender])["note"].harmless


def test_other_values_where_the_label_is_missing() -> None:
    s, gone, gender = world(0.3)
    rng = np.random.default_rng(1)
    odd = np.where(gone & (rng.random(N) < 0.9), s, rng.integers(0, 50, N))
    found = measure_columns(pa.table({"odd": odd}), [gender])["odd"]
    assert "have other values than labelled rows" in found.reason


def test_few_labels_in_a_large_table() -> None:
    s, gone, gender = world(0.6)
    ward = np.where(np.random.default_rng(2).random(N) < 0.5, s, 1 - s)
    found = measure_columns(pa.table({"ward": ward}), [gender])["ward"]
    assert found.reason == (
        f"could not be checked: {gone.sum():,} of {N:,} rows have no label of 'gender'"
    )


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.01, 0.3])
def test_labels_that_are_missing_at_random_do_no_harm(missing: float) -> None:
    for seed in range(5):
        _, _, gender = world(missing, seed)
        rng = np.random.default_rng([seed, 3])
        table = pa.table({"few": rng.integers(0, 4, N), "real": rng.standard_normal(N)})
        found = measure_columns(table, [gender])
        assert all(m.harmless for m in found.values()), found
