"""Columns that tell nothing in one record, in worlds whose answers are known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.attribute import Attribute
from withhold.records.columns.measure_columns import Measured, measure_columns

KINDS = ("category", "number", "date", "true or false")


def measured(
    people: int = 200,
    rows: int = 6,
    *,
    told: bool,
    kind: str = "category",
    seed: int = 0,
    groups: bool = True,
) -> Measured:
    """A fair coin in every record. If `told`, all records of a person of class 1 share one coin."""
    rng = np.random.default_rng([seed, 0xC0])
    who = np.repeat(np.arange(people), rows)
    sex = rng.permutation(np.arange(people) % 2)
    own, each = rng.integers(0, 2, people)[who], rng.integers(0, 2, len(who))
    shared = (sex[who] == 1) if told else rng.integers(0, 2, people)[who] == 1
    return _measure(np.where(shared, own, each), sex[who], who, kind, groups=groups)


def _measure(
    coin: np.ndarray, sex: np.ndarray, who: np.ndarray, kind: str, *, groups: bool = True
) -> Measured:
    column = {
        "category": lambda: pa.array([f"w{c}" for c in coin]),
        "number": lambda: pa.array(coin * 2.5 + 1),
        "date": lambda: pa.array(coin.astype("datetime64[D]")),
        "true or false": lambda: pa.array(coin == 1),
    }[kind]()
    secret = Attribute("sex", "categorical", ("m", "f"), sex.astype(np.int64))
    table = pa.table({"ward": column})
    found = measure_columns(table, [secret], groups=who if groups else None, people=who)
    return found["ward"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_the_same_in_all_records_of_one_class_tells(kind: str) -> None:
    """Six coins are all equal with 1/32, so 98.4 % of the people are named."""
    found = measured(told=True, kind=kind)
    assert found.rule == "tells"
    assert found.told is not None
    assert found.told.accuracy == pytest.approx(0.984, abs=0.03)
    assert found.reason.startswith("reveals 'sex' (9")
    assert found.reason.endswith("from several records of one person")


def test_people_are_held_against_a_column_without_groups_too() -> None:
    """`groups` is None if the people themselves are suppressed; whose records they are is known."""
    found = measured(told=True, groups=False)
    assert found.rule == "tells"


def test_a_column_that_varies_within_people_for_other_reasons_stays() -> None:
    assert all(measured(told=False, seed=seed).harmless for seed in range(10))


def test_the_number_of_records_of_a_person_is_not_held_against_a_column() -> None:
    """Women have 3 records and men 9, so more men have seen both wards; the ward is a coin."""
    rng = np.random.default_rng(0)
    sex = np.arange(300) % 2
    who = np.repeat(np.arange(300), np.where(sex == 1, 3, 9))
    assert _measure(rng.integers(0, 2, len(who)), sex[who], who, "category").harmless


def test_the_order_of_the_people_is_not_held_against_a_column() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(200), 4)
    sex = (who >= 100).astype(np.int64)
    assert _measure(rng.integers(0, 2, len(who)), sex, who, "category").harmless


@pytest.mark.parametrize(("people", "rule"), [(20, "unchecked"), (60, "harmless")])
def test_too_few_people_are_no_measurement(people: int, rule: str) -> None:
    """600 records are enough for a verdict on single records; 20 people are too few for theirs."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(people), 600 // people)
    found = _measure(rng.integers(0, 2, len(who)), who % 2, who, "category")
    assert found.rule == rule
    asked = "could not be checked on whole people; name it with --keep to release it as it is"
    assert (found.reason == asked) == (rule == "unchecked")


def test_one_record_per_person_needs_no_second_measurement() -> None:
    assert measured(600, 1, told=False).harmless


def _two_of(rng: np.random.Generator, people: int, rows: int) -> np.ndarray:
    """Two rows of every person, (people * rows,) of bool."""
    return np.concatenate([rng.permutation(np.arange(rows) < 2) for _ in range(people)])


def rarer_ward(people: int, rows: int, *, told: bool, seed: int = 0) -> Measured:
    """Two wards per person, the first in two of its rows. If `told`, it hurts in the rarer one.

    Which ward is the rarer one is a coin, and two rows of every person hurt, so a row alone tells
    nothing.
    """
    rng = np.random.default_rng([seed, 0xA2])
    who = np.repeat(np.arange(people), rows)
    hurts = _two_of(rng, people, rows)
    rare = hurts if told else _two_of(rng, people, rows)
    ward = rng.permutation(np.arange(people) % 2)[who] ^ rare
    return _measure(ward, hurts.astype(np.int64), who, "category")


@pytest.mark.parametrize(("people", "rows"), [(200, 6), (25, 10)])
def test_a_label_of_rows_is_measured_beside_the_other_rows_of_the_person(
    people: int, rows: int
) -> None:
    found = rarer_ward(people, rows, told=True)
    assert found.rule == "tells"
    assert found.told is not None
    assert found.told.accuracy > 0.95


def test_a_number_is_compared_with_the_other_numbers_of_the_person() -> None:
    """It hurts on the two days with the highest pulse; people differ more than days do."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(300), 6)
    day = rng.normal(size=(300, 6)).round(2)
    hurts = (day.argsort(axis=1).argsort(axis=1) >= 4).astype(np.int64).reshape(-1)
    pulse = day.reshape(-1) + rng.normal(0, 100, 300).round(2)[who]
    found = _measure(pulse, hurts, who, "number", groups=False)
    assert found.rule == "tells"
    assert found.told is not None
    assert found.told.accuracy > 0.9


def test_a_label_of_rows_that_the_person_does_not_explain_is_no_alarm() -> None:
    assert all(rarer_ward(200, 6, told=False, seed=seed).harmless for seed in range(10))


def test_a_label_of_rows_with_too_few_people_is_unchecked() -> None:
    """400 rows are enough for single rows, but only ten people have several."""
    rng = np.random.default_rng(0)
    who = np.append(np.arange(400), np.arange(10))
    coin, hurts = rng.integers(0, 2, (2, len(who)))
    assert _measure(coin, hurts, who, "category").rule == "unchecked"


@pytest.mark.parametrize("wrong", [0.01, 0.04, 0.1])
def test_wrong_labels_of_some_rows_do_not_end_the_measurement(wrong: float) -> None:
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(200), 6)
    sex = rng.permutation(np.arange(200) % 2)[who]
    ward = np.where(sex == 1, rng.integers(0, 2, 200)[who], rng.integers(0, 2, len(who)))
    recorded = np.where(rng.random(len(who)) < wrong, 1 - sex, sex)
    found = _measure(ward, recorded, who, "category")
    assert found.rule == "tells"
    assert found.told is not None
    assert found.told.accuracy > 0.93


def test_an_attribute_that_differs_between_the_records_of_a_person_may_be_harmless() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(20), 30)
    coin, sex = rng.integers(0, 2, (2, len(who)))
    assert _measure(coin, sex, who, "category").harmless
