"""Columns whose Bayes accuracy is known, and columns that tell nothing."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import encode_column
from withhold.records.columns.tells import how_well_it_tells, is_copy

N = 2000


def secret(rng: np.random.Generator, n: int = N, classes: int = 2) -> Attribute:
    names = tuple(f"c{i}" for i in range(classes))
    return Attribute("secret", "categorical", names, rng.integers(0, classes, n))


def noisy(rng: np.random.Generator, s: Attribute, right: float) -> np.ndarray[Any, Any]:
    """The secret, right with this probability, otherwise the other class."""
    return np.where(rng.random(len(s.codes)) < right, s.codes, 1 - s.codes)


def telling_column(name: str, rng: np.random.Generator, s: Attribute) -> pa.Array:
    """A column that gives the binary secret at about 79 %."""
    hint = noisy(rng, s, 0.79)
    n = len(hint)
    z = rng.standard_normal(n)
    start = datetime.datetime(2020, 1, 6)  # a Monday
    days = 7 * rng.integers(0, 100, n)
    match name:
        case "device":
            return pa.array(np.array(["phone", "desk"])[hint].tolist())
        case "flag":
            return pa.array(hint.astype(bool))
        case "comment":
            words = [["my husband called", "her card"], ["my wife called", "his card"]]
            return pa.array([f"ticket {i}: {words[h][i % 2]} again" for i, h in enumerate(hint)])
        case "low decimals":
            return pa.array(np.round(z, 3) + 1e-4 * hint)
        case "below float32":
            return pa.array(z.astype(np.float32).astype(np.float64) + 1e-11 * (2 * hint - 1))
        case "mantissa bit":
            bits = z.astype(np.float32).view(np.uint32)
            return pa.array(
                ((bits & ~np.uint32(8)) | (8 * hint).astype(np.uint32)).view(np.float32)
            )
        case "parity":
            return pa.array(2 * rng.integers(0, 10**6, n) + hint)
        case "missing":
            return pa.array([None if h else v for h, v in zip(hint, z.tolist(), strict=True)])
        case "weekday":
            return pa.array(
                [start + datetime.timedelta(int(d + h)) for d, h in zip(days, hint, strict=True)]
            )
        case "hour":
            return pa.array(
                [
                    start + datetime.timedelta(days=int(d), hours=int(6 * h + rng.integers(0, 6)))
                    for d, h in zip(days, hint, strict=True)
                ]
            )
        case "bytes length":
            return pa.array([bytes(rng.integers(0, 256, 20 + h, dtype=np.uint8)) for h in hint])
        case "list":
            return pa.array(
                [[a, b + 3 * h] for a, b, h in zip(z, rng.standard_normal(n), hint, strict=True)]
            )
        case "bump":  # no linear relation: the middle against both ends
            return pa.array(
                np.where(
                    hint == 1, rng.uniform(-1, 1, n), rng.choice([-1, 1], n) * rng.uniform(1, 2, n)
                )
            )
    raise AssertionError(name)


KINDS = {
    "device": "category",
    "flag": "true or false",
    "comment": "text",
    "low decimals": "number",
    "below float32": "number",
    "mantissa bit": "number",
    "parity": "number",
    "missing": "number",
    "weekday": "date",
    "hour": "date",
    "bytes length": "bytes",
    "list": "list of numbers",
    "bump": "number",
}


@pytest.mark.parametrize("name", list(KINDS))
def test_a_column_that_tells_is_found_near_its_bayes_rate(name: str) -> None:
    rng = np.random.default_rng(1)
    s = secret(rng)
    encoded = encode_column(pa.chunked_array([telling_column(name, rng, s)]))
    found = how_well_it_tells(encoded, s)
    assert encoded.kind == KINDS[name]
    assert found.tells
    expected = 0.79 if name != "list" else 0.79 * 0.93 + 0.21 * 0.07
    assert abs(found.accuracy - expected) < 0.04
    assert found.lower < found.accuracy
    assert found.lower > found.majority


NULLS: dict[str, Callable[[np.random.Generator], pa.Array]] = {
    "category": lambda r: pa.array([f"v{i}" for i in r.integers(0, 6, 400)]),
    "many categories": lambda r: pa.array([f"v{i}" for i in r.integers(0, 150, 400)]),
    "number": lambda r: pa.array(r.standard_normal(400)),
    "integer": lambda r: pa.array(r.integers(0, 10**6, 400)),
    "id": lambda r: pa.array([f"{i:08x}" for i in r.integers(0, 2**32, 400)]),
    "text": lambda r: pa.array([" ".join(r.choice(list("abcdefgh"), 6)) for _ in range(400)]),
    "date": lambda r: pa.array(r.integers(0, 10**9, 400).astype("datetime64[s]")),
    "bytes": lambda r: pa.array([r.bytes(30) for _ in range(400)]),
    "list": lambda r: pa.array(list(r.standard_normal((400, 5)))),
}


@pytest.mark.parametrize("name", list(NULLS))
@pytest.mark.parametrize(("classes", "seeds"), [(2, 8), (5, 3)])
def test_a_column_that_tells_nothing_is_called_harmless(
    name: str, classes: int, seeds: int
) -> None:
    """The level is 0.1 %: of 8 seeds, two alarms have a chance of 0.003 %."""
    alarms = 0
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 5])
        s = secret(rng, 400, classes)
        alarms += bool(how_well_it_tells(encode_column(NULLS[name](rng)), s, seed=seed).tells)
    assert alarms <= 1


@pytest.mark.slow
def test_few_valued_null_columns_alarm_no_more_often_than_the_level_says() -> None:
    """1,000 columns: one alarm is expected, and 6 or more have a chance of 0.06 %."""
    alarms = 0
    for seed in range(1000):
        rng = np.random.default_rng([seed, 6])
        s = secret(rng, 200, 2 + seed % 3)
        column = pa.array(rng.integers(0, 2 + seed % 20, 200))
        alarms += bool(how_well_it_tells(encode_column(column), s).tells)
    assert alarms <= 5


def test_null_columns_of_people_alarm_no_more_often_than_the_level_says() -> None:
    """A trait of each person, unrelated to the secret, which every person has one of."""
    alarms = 0
    for seed in range(400):
        rng = np.random.default_rng([seed, 7])
        person = rng.integers(0, 40, 400)
        s = Attribute("secret", "categorical", ("a", "b"), rng.integers(0, 2, 40)[person])
        column = pa.array(rng.integers(0, 4, 40)[person])
        found = how_well_it_tells(encode_column(column), s, groups=person, seed=seed)
        alarms += bool(found.tells)
    assert alarms <= 4


def test_people_are_the_unit_where_groups_are_given() -> None:
    """Twelve people whose trait tells by record, because it names the person, and not by person."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(24), 100)
    s = Attribute("secret", "categorical", ("a", "b"), (rng.permutation(24) % 2)[person])
    column = encode_column(pa.array(person * 10))
    assert how_well_it_tells(column, s).tells
    assert not how_well_it_tells(column, s, groups=person).tells


def test_an_id_that_repeats_tells_and_a_unique_one_does_not() -> None:
    rng = np.random.default_rng(4)
    owner = rng.integers(0, 300, N)
    s = Attribute("secret", "categorical", ("a", "b"), rng.integers(0, 2, 300)[owner])
    names = np.array([f"{v:012x}" for v in rng.integers(0, 2**40, 300)])
    repeated = how_well_it_tells(encode_column(pa.array(names[owner].tolist())), s)
    assert repeated.tells
    assert repeated.accuracy > 0.95
    unique = pa.array([f"{v:012x}" for v in rng.integers(0, 2**40, N)])
    assert not how_well_it_tells(encode_column(unique), s).tells


def test_a_shift_of_the_odds_is_found_where_the_best_guess_never_changes() -> None:
    """P(rare) is 5 % or 15 %: no guess beats the majority, and still the column tells."""
    rng = np.random.default_rng(5)
    flag = rng.integers(0, 2, 4000)
    codes = (rng.random(4000) < np.where(flag == 1, 0.15, 0.05)).astype(np.int64)
    s = Attribute("secret", "categorical", ("no", "yes"), codes)
    found = how_well_it_tells(encode_column(pa.array(flag)), s)
    assert found.tells
    assert found.accuracy == pytest.approx(found.majority, abs=0.01)
    assert found.bits > 0


def test_a_rare_value_that_gives_the_secret_away_is_found() -> None:
    rng = np.random.default_rng(6)
    s = secret(rng, 4000, 5)
    column = np.where((s.codes == 3) & (rng.random(4000) < 0.1), "special", "usual")
    assert how_well_it_tells(encode_column(pa.array(column.tolist())), s).tells


def test_multilabel_attributes_are_judged_label_by_label() -> None:
    rng = np.random.default_rng(7)
    tags = rng.integers(0, 2, (N, 4))
    s = Attribute("tags", "multilabel", ("a", "b", "c", "d"), tags)
    assert how_well_it_tells(encode_column(pa.array(tags[:, 2].astype(bool))), s).attribute == "c"
    assert not how_well_it_tells(encode_column(pa.array(rng.integers(0, 2, N))), s).tells


def test_too_few_labels_say_nothing() -> None:
    rng = np.random.default_rng(8)
    codes = np.full(N, -1)
    codes[:30] = rng.integers(0, 2, 30)
    s = Attribute("secret", "categorical", ("a", "b"), codes)
    found = how_well_it_tells(encode_column(pa.array(rng.integers(0, 2, N))), s)
    assert found.tells is None
    assert not found.checked


def test_records_without_a_label_do_not_count() -> None:
    rng = np.random.default_rng(9)
    s = secret(rng)
    column = np.array(["x", "y"])[s.codes]
    unlabelled = Attribute(s.name, s.kind, s.classes, np.where(rng.random(N) < 0.5, s.codes, -1))
    assert how_well_it_tells(encode_column(pa.array(column.tolist())), unlabelled).accuracy == 1


@pytest.mark.parametrize(
    ("values", "copy"),
    [
        (lambda s: np.array(["m", "f"])[s], True),
        (lambda s: np.array([7.5, -1.0])[s], True),
        (lambda s: s.astype(bool), True),
        (lambda s: np.zeros(len(s)), False),
        (lambda s: np.arange(len(s)), False),
        (lambda s: np.where(np.arange(len(s)) == 0, 1 - s, s), False),
    ],
)
def test_one_to_one_copies(values: Any, copy: bool) -> None:
    rng = np.random.default_rng(10)
    s = secret(rng)
    column = values(s.codes)
    assert is_copy(pa.chunked_array([pa.array(column.tolist())]), s) == copy


def test_a_copy_with_missing_values_is_a_copy() -> None:
    rng = np.random.default_rng(11)
    s = secret(rng)
    column = [None if rng.random() < 0.2 else "mf"[c] for c in s.codes]
    assert is_copy(pa.chunked_array([pa.array(column)]), s)


def test_a_copy_of_one_label_is_a_copy_of_a_multilabel_attribute() -> None:
    rng = np.random.default_rng(12)
    tags = rng.integers(0, 2, (N, 3))
    s = Attribute("tags", "multilabel", ("a", "b", "c"), tags)
    assert is_copy(pa.chunked_array([pa.array(1 - tags[:, 1])]), s)
    assert not is_copy(pa.chunked_array([pa.array(tags[:, 1] ^ tags[:, 2])]), s)


def rare_class(n: int, sick: int, both: int, others: int, seed: int = 0) -> tuple[Attribute, Any]:
    """`sick` of n records have the rare class; `both` of them, and `others`, have the flag."""
    rows = np.random.default_rng(seed).permutation(n)
    codes, flag = np.zeros((2, n), np.int64)
    codes[rows[:sick]] = 1
    flag[rows[:both]] = flag[rows[sick : sick + others]] = 1
    return Attribute("hiv", "categorical", ("no", "yes"), codes), encode_column(pa.array(flag))


@pytest.mark.parametrize(("both", "others"), [(10, 10), (8, 8), (10, 30)])
def test_a_flag_of_half_of_a_rare_class_is_found(both: int, others: int) -> None:
    s, flag = rare_class(3000, 20, both, others)
    assert how_well_it_tells(flag, s).tells


def test_a_class_of_few_records_leaves_a_doubt() -> None:
    s, flag = rare_class(3000, 1, 1, 50)
    found = how_well_it_tells(flag, s)
    assert not found.tells
    assert "1 of 1 records of one class of 'hiv'" in found.doubt
    s, flag = rare_class(3000, 1, 0, 50)
    assert not how_well_it_tells(flag, s).doubt


def test_few_labels_leave_a_doubt_and_a_few_hundred_do_not() -> None:
    rng = np.random.default_rng(0)
    for n, doubt in ((60, True), (100, True), (200, False), (300, False)):
        column = encode_column(pa.array(rng.integers(0, 3, n)))
        found = how_well_it_tells(column, secret(rng, n))
        assert found.tells is False
        assert bool(found.doubt) == doubt
        assert not doubt or "points more than guessing and not be noticed" in found.doubt


def test_a_column_without_doubt_does_not_leave_with_the_gain_that_would_be_noticed() -> None:
    """175 labels and a flag that is right in 65 %: found in about four of five worlds."""
    missed = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 8])
        s = secret(rng, 175)
        found = how_well_it_tells(encode_column(pa.array(noisy(rng, s, 0.65))), s)
        missed += not found.tells
    assert missed <= 20
