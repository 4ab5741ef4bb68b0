"""Rows for codes: the schema of the original, its marginals, and nothing that few people hold."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records.tabular.table_strategies import tables
from withhold.records.tabular import RowMaker, describe_columns

LEAST = 5


def maker(
    table: pa.Table,
    codes: Any = None,
    *,
    people: Any = None,
    least: int = LEAST,
    number: int | None = None,
) -> RowMaker:
    codes = np.zeros(table.num_rows, dtype=np.int64) if codes is None else np.asarray(codes)
    people = np.arange(table.num_rows) if people is None else np.asarray(people)
    columns = describe_columns(table, name="t", leave_out=[])
    number = number or int(codes.max(initial=0)) + 1
    return RowMaker.of(table, columns, codes, number=number, people=people, least=least)


def drawn(made: RowMaker, n: int = 20_000, *, code: int = 0, seed: int = 0) -> pa.Table:
    uniforms = np.random.default_rng(seed).random((n, len(made.columns)))
    return made.rows(np.full(n, code), uniforms)


@settings(max_examples=200, deadline=None)
@given(tables(), st.integers(1, 6), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_any_table_gives_rows_of_its_schema_and_only_allowed_values(
    table: pa.Table, least: int, number: int, each_alone: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = table.num_rows
    codes = rng.integers(0, number, n)
    people = np.arange(n) if each_alone else rng.integers(0, n, n)
    made = maker(table, codes, people=people, least=least, number=number)
    released = made.rows(rng.integers(0, number, 60), rng.random((60, len(made.columns))))
    released.validate(full=True)
    for column in made.columns:
        assert released.schema.field(column.name).type == table.schema.field(column.name).type
        holders: dict[Any, set[int]] = {}
        for value, person in zip(table[column.name].to_pylist(), people, strict=True):
            if value is not None and value == value:
                holders.setdefault(value, set()).add(int(person))
        found = [v for v in released[column.name].to_pylist() if v is not None]
        if column.values is not None:
            assert all(len(holders[v]) >= least for v in found)
        elif found:
            assert len(set().union(*holders.values())) >= least
            assert min(found) >= min(holders)
            assert max(found) <= max(holders)


@pytest.mark.parametrize("least", [1, 5])
def test_one_code_reproduces_the_marginals(least: int) -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    table = pa.table(
        {
            "job": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "owner": rng.random(n) < 0.2,
            "age": rng.integers(17, 90, n),
            "height": rng.normal(170, 10, n),
            "income": np.exp(rng.normal(8, 1.5, n)),
            "gain": np.where(rng.random(n) < 0.9, 0.0, np.exp(rng.normal(8, 1, n))),
        }
    )
    released = drawn(maker(table, least=least), n)
    allowed = 1.95 * np.sqrt(2 / n)  # Kolmogorov-Smirnov, two samples, level 0.001
    for name in table.column_names:
        _, both = np.unique(
            np.concatenate([table[name].to_numpy(), released[name].to_numpy()]), return_inverse=True
        )
        one, two = (
            np.cumsum(np.bincount(b, minlength=both.max() + 1)) / n for b in np.split(both, 2)
        )
        assert np.abs(one - two).max() < allowed, name


def test_codes_keep_their_own_distributions() -> None:
    n = 1000
    codes = np.repeat([0, 1], n)
    table = pa.table({"job": np.repeat(["a", "b"], n), "age": codes * 50 + np.tile(range(20), 100)})
    made = maker(table, codes)
    for code, job in enumerate("ab"):
        released = drawn(made, 500, code=code)
        assert set(released["job"].to_pylist()) == {job}
        assert set(released["age"].to_pylist()) == set(range(code * 50, code * 50 + 20))


def test_a_value_of_few_people_never_leaves() -> None:
    # 'x' has nine records, but of two people; 'y' has five people, none of them in code 1.
    job = ["x"] * 9 + ["a"] * 50 + ["y"] * 5
    people = [0] * 5 + [1] * 4 + list(range(100, 155))
    levels = pa.array(["nobody", "x", "y", "a"])
    index = pa.array([levels.to_pylist().index(v) for v in job], pa.int8())
    table = pa.table({"job": job, "level": pa.DictionaryArray.from_arrays(index, levels)})
    codes = np.array([1] * 9 + [1] * 50 + [0] * 5)
    made = maker(table, codes, people=people)
    for code, expected in ((0, {"y"}), (1, {"a"})):
        released = drawn(made, 2000, code=code)
        assert set(released["job"].to_pylist()) == expected
        assert released["level"].chunk(0).dictionary.to_pylist() == ["y", "a"]
    assert '"x"' not in made.state()[1]


def test_extremes_and_single_numbers_do_not_leave() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, 400)
    x[:4] = [1e6, 1e5, -1e5, -1e6]
    table = pa.table({"x": x})
    for code_people in (np.arange(400), np.arange(400) // 2):
        released = drawn(maker(table, people=code_people))["x"].to_numpy()
        assert np.abs(released).max() < 10
        assert not np.isin(released, x).any()


def test_a_number_that_few_people_share_does_not_leave() -> None:
    rng = np.random.default_rng(3)
    pay = rng.lognormal(10, 0.4, 400).round(2)
    codes = np.arange(400) % 10
    for people in (2, LEAST - 1):
        pay[:people], codes[:people] = 31234.56, 7  # in the middle of code 7
        released = drawn(maker(pa.table({"pay": pay}), codes), code=7)
        assert (released["pay"].to_numpy() == 31234.56).mean() < 0.001
    pay[:LEAST], codes[:LEAST] = 31234.56, 7
    released = drawn(maker(pa.table({"pay": pay}), codes), code=7)
    assert (released["pay"].to_numpy() == 31234.56).mean() > 0.05


def test_numbers_of_a_small_code_lie_between_its_people() -> None:
    x = np.concatenate([np.arange(7) + 0.123456789, 1000 + np.random.default_rng(0).random(100)])
    made = maker(pa.table({"x": x}), [0] * 7 + [1] * 100)
    released = drawn(made, code=0)["x"].to_numpy()
    # The fifth lowest and the fifth highest of seven cross: the middle and half its neighbours.
    assert released.min() >= x[2]
    assert released.max() <= x[4]
    assert np.ptp(released) > 0.5


def test_few_numbers_of_their_own_are_drawn_from_a_range_of_the_table() -> None:
    rng = np.random.default_rng(3)
    gain = np.where(np.arange(400) % 4 == 0, rng.uniform(1000, 2000, 400), 0.0)
    gain[:40] = [1500.5] + [0.0] * 39
    table = pa.table({"gain": gain})
    released = drawn(maker(table, [0] * 40 + [1] * 360), code=0)["gain"].to_numpy()
    above = released[released > 0]
    assert len(above) / len(released) == pytest.approx(1 / 40, abs=0.006)
    assert not (above == 1500.5).any()
    near = np.sort(gain[gain > 0])
    place = int(np.searchsorted(near, 1500.5))
    assert near[place - 11] <= above.min() < above.max() <= near[place + 11]


def test_codes_of_few_people_use_the_whole_table() -> None:
    job = ["a"] * 80 + ["b"] * 20
    codes = [0] * 4 + [1] * 76 + [2] * 20
    made = maker(pa.table({"job": job}), codes, number=4)
    assert made.own.tolist() == [False, True, True, False]
    for code in (0, 3):
        share = Counter(drawn(made, code=code)["job"].to_pylist())["b"] / 20_000
        assert share == pytest.approx(0.2, abs=0.012)


def test_people_count_and_not_records() -> None:
    table = pa.table({"job": ["a"] * 50 + ["b"] * 50, "x": np.random.default_rng(0).random(100)})
    made = maker(table, people=np.arange(100) // 30)  # four people
    released = drawn(made, 100)
    assert released["job"].null_count == 100
    assert released["x"].null_count == 100


def test_missing_shares_stay_in_each_code() -> None:
    n = 1000
    gone = np.concatenate([np.arange(n) % 10 == 0, np.arange(n) % 2 == 0])
    table = pa.table(
        {
            "x": pa.array(np.random.default_rng(0).random(2 * n), mask=gone),
            "nan": np.where(gone, np.nan, 1.5),
            "job": pa.array(["a", "b"] * n, mask=gone),
            "owner": pa.array([True, False] * n, mask=gone),
            "day": pa.array(["2020-01-02", "2020-01-03"] * n, mask=gone),
        }
    )
    made = maker(table, np.repeat([0, 1], n))
    for code, share in ((0, 0.1), (1, 0.5)):
        for name, column in zip(table.column_names, drawn(made, code=code).columns, strict=True):
            assert column.null_count / 20_000 == pytest.approx(share, abs=0.015), name


def test_that_a_value_is_missing_leaves_only_if_many_people_lack_it() -> None:
    for gone, leaves in ((LEAST - 1, False), (LEAST, True)):
        mask = np.arange(60) < gone
        table = pa.table(
            {
                "x": pa.array(np.arange(60) / 7, mask=mask),
                "job": pa.array(["a", "b"] * 30, mask=mask),
                "v": pa.array([[1.0, 2.0]] * 60, pa.list_(pa.float32(), 2), mask=mask),
            }
        )
        columns = describe_columns(table, name="t", leave_out=[])
        made = RowMaker.of(
            table, columns, np.zeros(60, np.int64), number=1, people=np.arange(60), least=LEAST,
            vectors={"v": np.ones((1, 2), np.float32)}, contrast=2.0,
        )  # fmt: skip
        for column in drawn(made).columns:
            assert (column.null_count > 0) == leaves


def test_values_that_may_not_leave_count_for_the_others_and_not_as_missing() -> None:
    job = [None] * 20 + [f"rare {i % 20}" for i in range(40)] + ["a"] * 40
    released = drawn(maker(pa.table({"job": job})))["job"]
    assert released.null_count / 20_000 == pytest.approx(0.2, abs=0.012)
    assert set(released.to_pylist()) == {None, "a"}
    few = drawn(maker(pa.table({"job": job}), [0] * 60 + [1] * 40), code=0)["job"]
    assert few.null_count == 20_000  # nothing else in this code may leave


def test_dates_and_steps() -> None:
    n = 600
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 3000, n)
    table = pa.table(
        {
            "date": pa.array(days, pa.date32()),
            "stamp": pa.array(days.astype("datetime64[ns]")),
            "text": np.datetime_as_string(days),
            "minute": [f"{d} 07:30" for d in days],
            "price": np.round(rng.uniform(0, 1000, n), 2),
            "whole": rng.integers(0, 10**6, n).astype(float),
        }
    )
    released = drawn(maker(table), 2000)
    assert released.schema == table.schema
    stamps = released["stamp"].to_numpy()
    assert (stamps == stamps.astype("datetime64[D]")).all()
    for name in ("date", "text"):
        found = [v if name == "date" else date.fromisoformat(v) for v in released[name].to_pylist()]
        assert date(2020, 1, 1) <= min(found) < max(found) < date(2028, 3, 20)
        assert len(set(found)) > 300
    minutes = released["minute"].to_pylist()
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", v) for v in minutes)
    prices = released["price"].to_numpy()
    assert (np.round(prices, 2) == prices).all()
    assert (released["whole"].to_numpy() % 1 == 0).all()


def test_constant_empty_and_shared_large_values_come_back_exactly() -> None:
    big = 2**62 + 1
    stamp = 1_700_000_000_123_456_789
    table = pa.table(
        {
            "same": ["x"] * 20,
            "none": pa.array([None] * 20, pa.float32()),
            "null": pa.nulls(20),
            "empty text": [""] * 10 + ["a"] * 10,
            "big": pa.array([big] * 10 + [big + 4] * 10, pa.int64()),
            "stamp": pa.array([stamp] * 10 + [stamp + 1] * 10, pa.timestamp("ns")),
        }
    )
    released = drawn(maker(table), 500)
    assert released.schema == table.schema
    for name in table.column_names:
        one, two = released[name], table[name]
        if name == "stamp":  # Python's datetime has no nanoseconds
            one, two = one.cast(pa.int64()), two.cast(pa.int64())
        assert set(one.to_pylist()) == set(two.to_pylist())


def test_uniforms_decide_everything_column_by_column() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.random(500), "y": rng.integers(0, 99, 500), "z": ["a", "b"] * 250})
    codes = rng.integers(0, 5, 500)
    made = maker(table, codes)
    wanted, uniforms = rng.integers(0, 5, 300), rng.random((300, 3))
    released = made.rows(wanted, uniforms)
    assert made.rows(wanted, uniforms) == released
    back = RowMaker.from_state(*made.state())
    assert back.rows(wanted, uniforms) == released
    order = rng.permutation(300)
    assert made.rows(wanted[order], uniforms[order]) == released.take(pa.array(order))
    other = uniforms.copy()
    other[:, 1] = rng.random(300)
    changed = made.rows(wanted, other)
    assert changed["x"] == released["x"]
    assert changed["z"] == released["z"]
    assert changed["y"] != released["y"]


def test_blocks_do_not_matter_and_the_largest_uniform_stays_in_its_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 100
    codes = np.repeat(np.arange(50), n)
    made = maker(pa.table({"x": codes.astype(np.int32)}), codes)
    uniforms = np.full((len(codes), 1), np.nextafter(1.0, 0.0))
    uniforms[::2] = 0.0
    released = made.rows(codes, uniforms)
    assert released["x"].to_pylist() == codes.tolist()
    monkeypatch.setattr("withhold.records.tabular.row_maker._BLOCK", 7)
    assert made.rows(codes, uniforms)["x"].to_pylist() == codes.tolist()


def test_no_rows() -> None:
    table = pa.table({"x": [1.5, 2.5] * 10, "z": ["a", "b"] * 10})
    assert maker(table).rows(np.zeros(0, dtype=np.int64), np.zeros((0, 2))) == table.slice(0, 0)


def test_wrong_shapes_are_refused() -> None:
    table = pa.table({"x": [1.5, 2.5] * 10})
    made = maker(table)
    with pytest.raises(ValueError, match="uniforms must be"):
        made.rows(np.zeros(3, dtype=np.int64), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="codes must be in"):
        made.rows(np.ones(3, dtype=np.int64), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="codes must be in"):
        maker(table, np.full(20, 2), number=2)
