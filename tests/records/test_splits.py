from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.records.splits import PARTS, assign_parts, records_where

FRACTIONS = [(0.6, 0.2, 0.2), (0.8, 0.1, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.5, 0.0, 0.5), (1, 0, 0)]


def counts(parts):
    return np.array([(parts == p).sum() for p in PARTS])


@pytest.mark.parametrize("fractions", FRACTIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 97, 24_000])
def test_the_whole_has_the_shares(n, fractions):
    for seed in range(10):
        parts = assign_parts(n, fractions=fractions, seed=seed)
        assert parts.shape == (n,)
        assert counts(parts).sum() == n
        assert np.abs(counts(parts) - n * np.array(fractions)).max() <= 2


@pytest.mark.parametrize("fractions", FRACTIONS)
@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=30), seed=st.integers(0, 9))
def test_every_stratum_has_the_shares_and_so_has_the_whole(fractions, sizes, seed):
    strata = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    parts = assign_parts(len(strata), fractions=fractions, strata=strata, seed=seed)
    for level, size in enumerate(sizes):
        off = counts(parts[strata == level]) - size * np.array(fractions)
        assert np.abs(off).max() <= 2
    assert np.abs(counts(parts) - len(strata) * np.array(fractions)).max() <= 2


def test_who_is_in_which_part_is_left_to_chance_within_a_stratum():
    strata = np.arange(60) % 3
    test = [assign_parts(60, strata=strata, seed=s) == "test" for s in range(400)]
    # Every record is held out in a fifth of the draws: 0.2 within five standard errors.
    assert np.abs(np.mean(test, axis=0) - 0.2).max() < 5 * np.sqrt(0.16 / 400)


def test_the_seed_decides():
    strata = np.arange(500) % 7
    groups = np.arange(500) // 5
    for options in ({}, {"strata": strata}, {"groups": groups, "strata": strata}):
        one = assign_parts(500, seed=1, **options)
        assert np.array_equal(one, assign_parts(500, seed=1, **options))
        assert not np.array_equal(one, assign_parts(500, seed=2, **options))


@given(
    groups=st.lists(st.integers(0, 12), min_size=1, max_size=120),
    fractions=st.sampled_from(FRACTIONS),
    seed=st.integers(0, 5),
)
def test_a_group_is_never_divided(groups, fractions, seed):
    member = np.array(groups)
    strata = np.arange(len(member)) % 3
    parts = assign_parts(len(member), fractions=fractions, strata=strata, groups=member, seed=seed)
    assert all(len(set(parts[member == g])) == 1 for g in set(groups))
    for part, share in zip(PARTS, fractions, strict=True):
        assert share > 0 or not (parts == part).any()


@pytest.mark.parametrize("fractions", FRACTIONS)
def test_groups_of_one_stratum_have_the_shares_up_to_a_group(fractions):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 20, 200)
    groups = np.repeat(np.arange(200), sizes)
    strata = groups % 2  # as gender is to speakers
    parts = assign_parts(len(groups), fractions=fractions, strata=strata, groups=groups)
    for level in (0, 1):
        mine = strata == level
        off = counts(parts[mine]) - mine.sum() * np.array(fractions)
        assert np.abs(off).max() <= sizes.max()


def test_small_groups_even_out_what_large_ones_left():
    groups = np.concatenate([np.repeat(np.arange(4), 100), np.arange(4, 404)])
    for seed in range(10):
        parts = assign_parts(800, groups=groups, seed=seed)
        assert np.abs(counts(parts) - [480, 160, 160]).max() <= 2


def test_few_large_groups_still_fill_every_part():
    groups = np.repeat(np.arange(5), 100)
    for seed in range(20):
        assert counts(assign_parts(500, groups=groups, seed=seed)).tolist() == [300, 100, 100]


@pytest.mark.parametrize(
    "fractions", [(0.6, 0.2, 0.1), (1.2, -0.1, -0.1), (0, 0, 0), (float("nan"), 0.5, 0.5)]
)
def test_fractions_that_are_none(fractions):
    with pytest.raises(UserError, match="must be at least 0 and sum to 1"):
        assign_parts(10, fractions=fractions)


# --- records by a condition ---

TABLE = pa.table({"take": [28, 29, 30, None], "room": ["a", "b", None, "10"], "h": [0.5, 1, 2, 3]})


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("take>=30", [0, 0, 1, 0]),
        ("take > 28", [0, 1, 1, 0]),
        ("take<29", [1, 0, 0, 0]),
        ("take<=29", [1, 1, 0, 0]),
        ("take=29", [0, 1, 0, 0]),
        ("take==29", [0, 1, 0, 0]),
        ("take!=29", [1, 0, 1, 0]),
        ("room=b", [0, 1, 0, 0]),
        ("room!=b", [1, 0, 0, 1]),
        (" h >= 1.0 ", [0, 1, 1, 1]),
    ],
)
def test_records_where(condition, held):
    assert records_where(TABLE, condition, "t").tolist() == [bool(h) for h in held]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("take", "is not COLUMN OP VALUE"),
        ("tak>3", "'tak' is not in t; did you mean 'take'"),
        ("take>many", "is numeric; 'many' in 'take>many' is not a number"),
    ],
)
def test_conditions_that_cannot_be_read(condition, message):
    with pytest.raises(UserError, match=message):
        records_where(TABLE, condition, "t")
