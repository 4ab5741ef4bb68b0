"""Copies of rows, and how many people they count as."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.tabular.row_copies import PeopleInRows, people_in_rows


def _people(table: pa.Table) -> PeopleInRows:
    return people_in_rows(table, table.column_names, least=5)


def _holding(table: pa.Table, found: PeopleInRows, column: str, value: object) -> int:
    rows = [i for i, v in enumerate(table[column].to_pylist()) if v == value]
    return len(set(found.person[rows].tolist()))


def _rich(n: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "pay": rng.normal(size=n),
            "town": [f"t{i}" for i in rng.integers(0, 30, n)],
        }
    )


def _repeated(table: pa.Table, row: int, times: int) -> pa.Table:
    return pa.concat_tables([table, *[table.slice(row, 1)] * times]).combine_chunks()


def test_rows_that_differ_are_people() -> None:
    found = _people(_rich())
    assert found.joined == 0
    assert len(np.unique(found.person)) == 300


def test_a_hundred_copies_of_one_person_count_once() -> None:
    table = _repeated(_rich(), 7, 99)
    found = _people(table)
    assert (found.joined, found.largest) == (99, 100)
    assert _holding(table, found, "pay", table["pay"][7].as_py()) == 1
    assert len(set(found.person[[7, *range(300, 399)]].tolist())) == 1


def test_a_table_in_which_every_person_is_copied_ten_times() -> None:
    table = pa.concat_tables([_rich()] * 10)
    found = _people(table)
    assert len(np.unique(found.person)) == 300
    assert found.joined == 2700


def test_few_coarse_columns_have_honest_duplicates() -> None:
    rng = np.random.default_rng(1)
    n = 1000
    table = pa.table({"sex": rng.integers(0, 2, n), "job": rng.integers(0, 4, n)})
    found = _people(table)
    assert found.joined == 0
    assert len(np.unique(found.person)) == n


def test_a_rare_value_that_only_copies_of_one_row_have_stays_rare_in_a_coarse_table() -> None:
    rng = np.random.default_rng(2)
    n = 2000
    coarse = pa.table(
        {
            "sex": rng.integers(0, 2, n),
            "job": rng.integers(0, 5, n),
            "town": rng.integers(0, 8, n),
            "ill": rng.choice(["no", "flu"], n),
        }
    )
    one = pa.table({"sex": [1], "job": [2], "town": [3], "ill": ["rare"]}, schema=coarse.schema)
    table = pa.concat_tables([coarse, *[one] * 50])
    found = _people(table)
    assert _holding(table, found, "ill", "rare") == 1
    assert found.joined == 49
    # The same number of people who are not all alike holds the value as it is.
    others = pa.table(
        {
            "sex": rng.integers(0, 2, 50),
            "job": rng.integers(0, 5, 50),
            "town": np.full(50, 3),
            "ill": ["rare"] * 50,
        }
    )
    table = pa.concat_tables([coarse, others])
    assert _holding(table, _people(table), "ill", "rare") >= 40


def test_missing_values_are_equal_and_kinds_do_not_matter() -> None:
    table = pa.table(
        {
            "a": pa.array([None, None, 1.0, float("nan")]),
            "b": pa.array(["x", "x", "x", "x"]).dictionary_encode(),
            "c": pa.array([[1.0], [1.0], [1.0], [1.0]]),
        }
    )
    found = _people(table)
    assert found.person[0] == found.person[1] == found.person[3] != found.person[2]


@pytest.mark.parametrize("seed", range(5))
def test_people_are_numbered_without_gaps_and_only_equal_rows_share_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(1, 200)), int(rng.integers(1, 5))
    table = pa.table({f"c{i}": rng.integers(0, rng.integers(1, 9), n) for i in range(width)})
    found = _people(table)
    rows = [tuple(r.values()) for r in table.to_pylist()]
    assert set(found.person) == set(range(found.person.max() + 1))
    assert n - found.joined >= found.person.max() + 1
    by_person: dict[int, set[tuple[int, ...]]] = {}
    for person, row in zip(found.person.tolist(), rows, strict=True):
        by_person.setdefault(person, set()).add(row)
    assert all(len(each) == 1 for each in by_person.values())
