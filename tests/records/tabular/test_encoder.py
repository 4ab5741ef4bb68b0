"""The matrix of a mixed table: finite, row by row, comparable columns, plain JSON."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from records.tabular.table_strategies import tables
from withhold.core.errors import UserError
from withhold.records.tabular import TableEncoder, describe_columns


def fitted(table: pa.Table) -> TableEncoder:
    return TableEncoder.fit(table, describe_columns(table, name="t", leave_out=[]))


def mixed(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(n) < 0.9, 0.0, np.exp(rng.normal(8, 2, n)))
    return pa.table(
        {
            "age": rng.integers(17, 90, n),
            "gain": gain,
            "height": pa.array(rng.normal(170, 10, n), mask=rng.random(n) < 0.5),
            "job": pa.array([f"j{i}" for i in rng.integers(0, 9, n)], mask=rng.random(n) < 0.1),
            "town": [f"t{int(i)}" for i in rng.exponential(40, n)],
            "owner": rng.random(n) < 0.3,
            "day": pa.array(rng.integers(0, 9000, n), pa.int32()).cast(pa.date32()),
            "same": ["x"] * n,
        }
    )


@settings(max_examples=150, deadline=None)
@given(tables())
def test_any_table_becomes_finite_features_row_by_row(table: pa.Table) -> None:
    encoder = fitted(table)
    x = encoder.encode(table)
    assert x.dtype == np.float32
    assert x.shape == (table.num_rows, encoder.width)
    assert np.isfinite(x).all()
    rows = [encoder.encode(table.slice(i, 1)) for i in range(table.num_rows)]
    np.testing.assert_array_equal(np.concatenate(rows), x)
    back = TableEncoder.from_json(encoder.to_json())
    assert back == encoder
    np.testing.assert_array_equal(back.encode(table), x)


def test_each_column_has_the_same_total_variance() -> None:
    table = mixed()
    encoder = fitted(table)
    x = encoder.encode(table)
    for name, block in encoder.blocks.items():
        expected = 0.0 if name == "same" else 1.0
        assert x[:, block].var(axis=0).sum() == pytest.approx(expected, abs=0.02), name
    assert sorted(np.concatenate([np.r_[b] for b in encoder.blocks.values()])) == list(
        range(encoder.width)
    )


def test_many_values_share_features_and_equal_values_have_equal_features() -> None:
    table = mixed()
    encoder = fitted(table)
    block = encoder.blocks["town"]
    assert block.stop - block.start == 65
    x = encoder.encode(table)[:, block]
    towns = np.array(table["town"].to_pylist())
    for town in ("t0", "t7", "t100"):
        assert len(np.unique(x[towns == town], axis=0)) == 1


def test_a_long_tail_does_not_dominate_and_order_stays() -> None:
    table = mixed()
    encoder = fitted(table)
    gain = encoder.encode(table)[:, encoder.blocks["gain"]][:, 0]
    raw = table["gain"].to_numpy()
    assert np.abs(gain).max() < 8
    order = np.argsort(raw)
    assert (np.diff(gain[order]) >= -1e-6).all()
    assert np.ptp(gain[raw == 0]) == 0


def test_unseen_values_and_missing_columns_are_accepted() -> None:
    table = mixed()
    encoder = fitted(table)
    blocks = encoder.blocks
    later = pa.table({"job": ["new job", None], "town": ["nowhere", "t0"], "age": [1.5, 1e30]})
    x = encoder.encode(later)
    assert np.isfinite(x).all()
    assert (x[0, blocks["job"]] == 0).all()
    assert np.count_nonzero(x[1, blocks["job"]]) == 1
    assert x[0, blocks["town"]][63] > 0
    gone = table.slice(0, 2).set_column(2, "height", pa.array([None, None], pa.float64()))
    np.testing.assert_array_equal(x[:, blocks["height"]], encoder.encode(gone)[:, blocks["height"]])


def test_a_column_of_another_type_is_named() -> None:
    encoder = fitted(mixed())
    with pytest.raises(UserError, match="column 'age' is string here and int64"):
        encoder.encode(pa.table({"age": ["young"]}))
