"""Sharper values of codes: same shares in the whole table, same support, closer to the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.records.tabular import RowMaker, describe_columns
from withhold.records.tabular.column_shares import ColumnShares, Floats


def made_table(seed: int, codes: int, missing: float) -> tuple[pa.Table, np.ndarray]:
    """A column that depends on the code, some of its values missing."""
    rng = np.random.default_rng(seed)
    n = 60 * codes
    code = rng.integers(0, codes, n)
    prefer = rng.dirichlet(np.full(4, 0.5), codes)
    value = (rng.random((n, 1)) > prefer[code].cumsum(axis=1)).sum(axis=1)
    text = np.array(list("abcd"), dtype=object)[np.minimum(value, 3)]
    text[rng.random(n) < missing] = None
    number = rng.integers(0, 3, n) + value
    return pa.table({"job": pa.array(text), "level": number}), code


def maker(table: pa.Table, code: np.ndarray, contrast: float, least: int = 1) -> RowMaker:
    columns = describe_columns(table, name="t", leave_out=[])
    people = np.arange(len(code))
    number = int(code.max()) + 1
    return RowMaker.of(
        table, columns, code, number=number, people=people, least=least, contrast=contrast
    )


def dense(shares: ColumnShares) -> Floats:
    """Shares by code and value, without the whole table; the last value is missing."""
    codes = len(shares.start) - 2
    values = np.unique(shares.low[~np.isnan(shares.low)])
    out = np.zeros((codes, len(values) + 1))
    for c in range(codes):
        begin = float(c)
        for k in range(shares.start[c], shares.start[c + 1]):
            low = shares.low[k]
            at = len(values) if np.isnan(low) else int(np.searchsorted(values, low))
            out[c, at] += shares.end[k] - begin
            begin = shares.end[k]
    return out


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 999), st.integers(1, 8), st.sampled_from([0.0, 0.2]), st.floats(1, 8))
def test_every_value_keeps_its_share_and_no_code_draws_what_no_member_holds(
    seed: int, codes: int, missing: float, contrast: float
) -> None:
    table, code = made_table(seed, codes, missing)
    plain, sharp = maker(table, code, 1.0), maker(table, code, contrast)
    count = np.bincount(code, minlength=codes)
    for i in range(2):
        p, q = dense(plain.shares[i]), dense(sharp.shares[i])
        assert q.sum(axis=1) == pytest.approx(np.ones(codes))
        assert count @ q == pytest.approx(count @ p, abs=2e-3 * len(code))
        assert (q[p == 0] == 0).all()
        # Among plans with these shares, q has the highest contrast * E log p + H, and p the highest
        # E log p + H. So E_q log p >= E_p log p: common values of the code come more often.
        log_p = np.log(np.where(p > 0, p, 1.0))
        likely = [(count[:, None] * drawn * log_p).sum() for drawn in (q, p)]
        assert likely[0] >= likely[1] - 5e-3 * len(code)


def test_no_contrast_changes_nothing() -> None:
    table, code = made_table(0, 5, 0.1)
    one, two = maker(table, code, 1.0), maker(table, code, 1.0 + 1e-12)
    for a, b in zip(one.shares, two.shares, strict=True):
        assert np.allclose(a.end, b.end, atol=1e-5)
        assert np.array_equal(a.low, b.low, equal_nan=True)


def test_one_code_keeps_its_distribution() -> None:
    table, code = made_table(1, 1, 0.2)
    p, q = dense(maker(table, code, 1.0).shares[0]), dense(maker(table, code, 6.0).shares[0])
    assert q == pytest.approx(p, abs=1e-4)


def test_two_pure_codes_with_errors_become_purer() -> None:
    # Symmetric: p = (0.8, 0.2) and (0.2, 0.8), so lambda = 1 and q = p^2 normalised.
    table = pa.table({"job": ["a"] * 80 + ["b"] * 20 + ["b"] * 80 + ["a"] * 20})
    code = np.repeat([0, 1], 100)
    q = dense(maker(table, code, 2.0).shares[0])
    assert q[0, 0] == pytest.approx(0.64 / 0.68, abs=1e-4)
    assert q[1, 1] == pytest.approx(0.64 / 0.68, abs=1e-4)


def test_ranges_of_numbers_stay_as_they_are() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"height": rng.normal(170, 10, 400)})
    code = rng.integers(0, 4, 400)
    a, b = maker(table, code, 1.0, least=5), maker(table, code, 4.0, least=5)
    assert np.array_equal(a.shares[0].end, b.shares[0].end)
