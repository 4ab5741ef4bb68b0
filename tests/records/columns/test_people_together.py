"""Columns that tell only together and only in several records of a person, in known worlds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.attribute import Attribute
from withhold.records.columns import people_together
from withhold.records.columns.column_encoding import encode_column
from withhold.records.columns.measure_columns import Measured, measure_columns
from withhold.records.columns.set_statistics import SetColumn, most_statistics, statistics


class World:
    """People, half of them women, with some rows each."""

    def __init__(self, people: int = 300, rows: int = 6, seed: int = 0) -> None:
        self.rng = np.random.default_rng([seed, 0x70])
        self.people, self.rows, self.n = people, rows, people * rows
        self.who = np.repeat(np.arange(people), rows)
        self.sex = self.rng.permutation(np.arange(people) % 2)[self.who]

    def coin(self) -> np.ndarray:
        """A coin of every record."""
        return self.rng.integers(0, 2, self.n)

    def own(self) -> np.ndarray:
        """A coin of every person."""
        return self.rng.integers(0, 2, self.people)[self.who]

    def measure(
        self, label: np.ndarray | None = None, **columns: np.ndarray
    ) -> dict[str, Measured]:
        codes = (self.sex if label is None else label).astype(np.int64)
        secret = Attribute("sex", "categorical", ("m", "f"), codes)
        table = pa.table({n: pa.array(v) for n, v in columns.items()})
        return measure_columns(table, [secret], groups=self.who, people=self.who)


def left_out(found: dict[str, Measured]) -> list[str]:
    return [n for n, m in found.items() if not m.harmless]


@pytest.mark.parametrize("flags", [2, 3])
@pytest.mark.parametrize("people", [60, 300])
def test_flags_whose_xor_is_constant_for_women(flags: int, people: int) -> None:
    """Six coins are all equal with 1/32, so 98.4 % of the people are named."""
    world = World(people)
    columns = [world.coin() for _ in range(flags)]
    told = np.bitwise_xor.reduce(columns[:-1]) ^ world.own()
    columns[-1] = np.where(world.sex == 1, told, columns[-1])
    more = {"amount": world.rng.integers(0, 30, world.n)}
    found = world.measure(**more, **{f"c{i}": c for i, c in enumerate(columns)})
    (name,) = left_out(found)
    assert name != "amount"
    assert found[name].rule == "together"
    one = found[name].told
    assert one is not None
    assert one.accuracy == pytest.approx(0.984, abs=0.05)
    assert found[name].reason.endswith("with other columns in several records of one person")


def test_a_measure_that_moves_steadily_with_the_month() -> None:
    """The measure of a woman rises or falls over her visits; which of the two is a coin."""
    world = World()
    month, measure = world.rng.integers(1, 13, world.n), world.rng.integers(1, 9, world.n)
    for p in np.unique(world.who[world.sex == 1]):
        rows = np.flatnonzero(world.who == p)
        steady = np.sort(measure[rows])[:: world.rng.choice((-1, 1))]
        measure[rows[np.argsort(month[rows])]] = steady
    assert len(left_out(world.measure(month=month, measure=measure))) == 1


def test_an_own_table_of_every_woman() -> None:
    """The second value is a function of the first, another one for every woman."""
    world = World()
    a, b = world.rng.integers(0, 6, (2, world.n))
    tables = world.rng.integers(0, 6, (world.people, 6))
    found = world.measure(a=a, b=np.where(world.sex == 1, tables[world.who, a], b))
    assert len(left_out(found)) == 1


def test_two_columns_of_which_one_is_constant() -> None:
    """For a woman exactly one of two columns is constant, for a man both or none."""
    world = World()
    first = world.own()
    second = np.where(world.sex == 1, 1 - first, first)
    flags = [np.where(c == 1, world.own(), world.coin()) for c in (first, second)]
    assert len(left_out(world.measure(a=flags[0], b=flags[1]))) == 1


def test_a_label_of_rows_that_the_rarer_xor_of_the_person_tells() -> None:
    world = World()
    hurts = np.concatenate([world.rng.permutation(np.arange(6) < 2) for _ in range(world.people)])
    a = world.coin()
    found = world.measure(hurts, a=a, b=a ^ hurts ^ world.own())
    assert len(left_out(found)) == 1


@pytest.mark.parametrize(("people", "seeds"), [(60, 3), (300, 1)])
def test_columns_that_are_independent_leave(people: int, seeds: int) -> None:
    for seed in range(seeds):
        world = World(people, seed=seed)
        integers = world.rng.integers
        columns = {"a": world.coin(), "b": world.coin(), "month": integers(1, 13, world.n)}
        columns |= {"amount": integers(0, 30, world.n), "site": integers(0, 4, world.n)}
        assert not left_out(world.measure(**columns))
        assert not left_out(world.measure(world.coin(), **columns))


def test_columns_that_cannot_be_tried_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    columns = {f"c{i}": world.coin() for i in range(5)}
    monkeypatch.setattr(people_together, "TESTS", 100)  # three columns: 44 tests; four: 104
    found = world.measure(**columns)
    assert left_out(found) == ["c3", "c4"]
    assert found["c3"].rule == "untried"
    assert "too many columns" in found["c3"].reason
    assert "--keep" in found["c3"].reason
    monkeypatch.undo()
    monkeypatch.setattr(people_together, "GAIN", 0.01)
    found = world.measure(**columns)
    assert left_out(found) == ["c1", "c2", "c3", "c4"]
    assert "too few people" in found["c1"].reason


def test_lists_of_people_who_have_one_record_among_the_first_are_unchecked() -> None:
    """A sample has lists only for the records that have features; here nobody has two of them."""
    world = World(200, 2)
    order = np.concatenate([np.arange(0, world.n, 2), np.arange(1, world.n, 2)])
    world.who, world.sex = world.who[order], world.sex[order]
    lists = pa.array(world.rng.integers(0, 3, (world.n, 2)).tolist())
    x = world.rng.standard_normal((200, 2)).astype(np.float32)
    secret = Attribute("sex", "categorical", ("m", "f"), world.sex.astype(np.int64))
    table = pa.table({"one": lists, "two": lists.take(pa.array(np.arange(world.n)[::-1]))})
    found = measure_columns(table, [secret], x=x, groups=world.who, people=world.who)
    assert {m.rule for m in found.values()} == {"unchecked"}


@pytest.mark.parametrize("by_record", [False, True])
@pytest.mark.parametrize("size", [2, 3])
def test_statistics_do_not_depend_on_the_order_of_records(size: int, by_record: bool) -> None:
    world = World(50)
    sets = np.arange(world.n).reshape(50, 6)
    turned = sets[:, ::-1]
    values = [world.coin(), world.rng.integers(0, 40, world.n), world.rng.normal(size=world.n)]
    encoded = [encode_column(pa.chunked_array([pa.array(v)])) for v in values]
    for some in combinations(encoded, size):
        one, two = (
            list(
                statistics(
                    [SetColumn.of(c, s, by_record=by_record) for c in some], by_record=by_record
                )
            )
            for s in (sets, turned)
        )
        assert len(one) <= most_statistics(size, by_record=by_record)
        for a, b in zip(one, two, strict=True):
            back = b.reshape(50, 6)[:, ::-1].reshape(-1) if by_record else b
            # The edges of bins come from some of the values, which may be others in another order.
            assert (a == back).mean() > (0.8 if by_record else 0.999)
