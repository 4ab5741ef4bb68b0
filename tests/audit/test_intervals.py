from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.audit.intervals import (
    SURE,
    Z_95,
    Z_995,
    hull,
    paired_gain,
    resamples,
    share,
    shared,
    surely_above,
    wilson,
)

# --- wilson ---


@given(n=st.integers(1, 5000), rate=st.floats(0, 1), z=st.sampled_from([Z_95, Z_995]))
def test_wilson_solves_its_equation(n, rate, z):
    """Its ends are the p for which |p̂ - p| = z sqrt(p (1 - p) / n)."""
    right = round(rate * n)
    p = right / n
    low, high = wilson(right, n, z=z)
    assert 0 <= low <= p <= high <= 1
    for end in (low, high):
        assert (p - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / n, abs=1e-12)


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_newcombe_printed_it(right, n, low, high):
    assert wilson(right, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_at_the_ends_and_of_nothing():
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(800, 800)
    assert high == 1.0
    assert low == pytest.approx(800 / (800 + Z_95**2))
    assert wilson(0, 800) == pytest.approx((0.0, 1 - low))


def test_wilson_covers():
    rng = np.random.default_rng(0)
    for p, n in ((0.5, 40), (0.02, 200), (0.98, 200)):
        ends = [wilson(k, n) for k in range(n + 1)]
        drawn = rng.binomial(n, p, 4000)
        assert 0.925 < np.mean([ends[k][0] <= p <= ends[k][1] for k in drawn]) < 0.985


# --- the share of records, and of people ---


def people(seed, *, count, records, alike):
    """Answers of `count` people, 70 % right on the whole; `alike`: each has a rate of their own."""
    rng = np.random.default_rng([seed, count])
    rate = rng.beta(1.05, 0.45, count) if alike else np.full(count, 0.7)
    right = rng.random((count, records)) < rate[:, None]
    return right.reshape(-1), np.repeat(np.arange(count), records)


def coverage(*, units, simulations=400, **how):
    """How often the 95 % interval holds the truth, and how often `least` is above it."""
    held = missed = 0
    for seed in range(simulations):
        right, who = people(seed, **how)
        _, (low, high), least = share(right, who if units else None)
        held += low <= 0.7 <= high
        missed += least > 0.7
    return held / simulations, missed / simulations


def test_independent_records_are_covered_with_units_and_without():
    how = {"count": 100, "records": 4, "alike": False}
    for units in (False, True):
        held, missed = coverage(units=units, **how)
        assert 0.93 <= held <= 0.985  # with units the wider of two: a little more than 95 %
        assert missed <= 0.015


def test_records_of_one_person_that_are_alike_need_the_interval_over_people():
    how = {"count": 200, "records": 5, "alike": True}
    held, missed = coverage(units=True, **how)
    assert 0.93 <= held <= 0.97
    assert missed <= 0.02
    # Whoever counts records instead is wrong a quarter of the time.
    held, missed = coverage(units=False, **how)
    assert held < 0.85
    assert missed > 0.02


@pytest.mark.parametrize("count", [5, 10, 40])
def test_few_people_are_covered_too(count):
    """Resampling five people would hold the truth in 84 of 100 audits only."""
    held, missed = coverage(units=True, count=count, records=20, alike=True)
    assert held >= 0.925
    assert missed <= 0.03


@given(hits=st.lists(st.lists(st.booleans(), min_size=1, max_size=8), min_size=1, max_size=12))
def test_never_narrower_with_units(hits):
    right = np.concatenate([np.asarray(h) for h in hits])
    who = np.repeat(np.arange(len(hits)), [len(h) for h in hits])
    value, alone, least = share(right, None)
    again, (low, high), least_of_people = share(right, who)
    assert value == again == right.mean()
    assert 0 <= low <= alone[0] <= value <= alone[1] <= high <= 1
    assert least_of_people <= least <= alone[0]


def test_people_of_one_record_each_are_records():
    right = np.random.default_rng(0).random(2000) < 0.3
    _, alone, _ = share(right, None)
    _, grouped, _ = share(right, np.arange(2000))
    assert grouped == pytest.approx(alone, abs=0.003)


@pytest.mark.parametrize("value", [0, 1])
def test_where_all_are_alike_people_are_counted(value):
    """Ten people, all read: that says of people what ten records say, and not a thousand."""
    right = np.full(1000, bool(value))
    found, (low, high), least = share(right, np.arange(1000) // 100)
    assert found == value
    assert (low, high) == pytest.approx(wilson(10 * value, 10))
    assert least == pytest.approx(wilson(10 * value, 10, z=Z_995)[0])


def test_one_person_says_next_to_nothing_of_people():
    right = np.arange(1000) % 10 < 7
    _, (low, high), least = share(right, np.zeros(1000, int))
    assert low < 0.2
    assert high > 0.9
    assert least == low == 0


def test_no_records_no_claim():
    value, interval, least = share(np.zeros(0, bool), None)
    assert np.isnan(value)
    assert interval == (0.0, 1.0)
    assert least == 0.0


# --- resampling ---


def test_resamples_draw_as_many_as_there_are():
    weights = np.concatenate(list(resamples(50, None, draws=300)))
    assert weights.shape == (300, 50)
    assert (weights.sum(axis=1) == 50).all()
    assert weights.mean() == pytest.approx(1)
    assert weights.var() == pytest.approx(1 - 1 / 50, abs=0.05)  # that of a multinomial
    again = np.concatenate(list(resamples(50, None, draws=300)))
    assert np.array_equal(weights, again)


def test_resamples_take_whole_people():
    who = np.array([7, 7, 3, 3, 3, 9])
    weights = np.concatenate(list(resamples(6, who, draws=200)))
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 2] == weights[:, 3]).all()
    assert (weights[:, [0, 2, 5]].sum(axis=1) == 3).all()


def test_resamples_of_much_come_in_blocks():
    blocks = list(resamples(3_000_000, None, draws=5))
    assert [len(b) for b in blocks] == [2, 2, 1]


def test_the_hull_holds_both():
    assert hull((0.2, 0.5), (0.3, 0.9)) == (0.2, 0.9)


# --- paired_gain ---


@pytest.mark.parametrize("n", [30, 120, 600])
@pytest.mark.parametrize(("wins", "losses"), [(0.1, 0.1), (0.02, 0.02), (0.2, 0.05), (0.3, 0.0)])
def test_a_paired_gain_lies_in_its_interval_as_often_as_promised(n, wins, losses):
    rng = np.random.default_rng(0)
    gain, missed, false = wins - losses, 0, 0
    for _ in range(1000):
        u = rng.random(n)
        after, before = u < wins, (u >= wins) & (u < wins + losses)
        found = paired_gain(before, after, None)
        assert found.mean == pytest.approx(after.mean() - before.mean())
        assert found.least <= found.ci[0] <= found.mean <= found.ci[1]
        missed += not found.ci[0] <= gain <= found.ci[1]
        false += found.least > gain
    # Few records of which all wins and losses are missed give an interval without width.
    assert missed <= (1000 if n * wins < 10 else 70)
    assert false <= 15


def test_records_of_one_person_count_once():
    rng = np.random.default_rng(1)
    people = np.repeat(np.arange(12), 50)
    better = rng.random(12) < 0.6  # all records of a person go together
    before, after = ~better[people], better[people]
    alone, grouped = paired_gain(before, after, None), paired_gain(before, after, people)
    assert alone.mean == grouped.mean
    assert grouped.least < 0 < alone.least
    assert paired_gain(before, after, np.zeros(600, int)).least == -1.0


def test_equal_predictions_have_no_gain():
    right = np.arange(50) % 2 == 0
    found = paired_gain(right, right, None)
    assert (found.mean, found.ci, found.least) == (0.0, (0.0, 0.0), 0.0)


# --- surely_above ---


@given(
    n=st.integers(20, 5000), rate=st.floats(0.05, 0.95), bound=st.floats(0.01, 0.99),
    level=st.sampled_from([0.99, SURE, 0.9975, 0.9999]),
)  # fmt: skip
def test_a_share_is_compared_as_its_own_interval_at_that_level_would(n, rate, bound, level):
    from scipy.special import ndtri

    right = round(rate * n)
    least, direct = (wilson(right, n, z=z)[0] for z in (Z_995, float(ndtri(level))))
    if abs(direct - bound) > 1e-9:
        assert surely_above(right / n, least, bound, level=level) is (direct > bound)


@pytest.mark.parametrize("n", [120, 600, 5000])
@pytest.mark.parametrize("p", [0.5, 0.52, 0.7])
def test_two_tiers_contradict_an_honest_bound_in_about_1_of_200_audits(n, p):
    """Counted over all outcomes of an attack that is right with probability p, the bound itself."""
    from scipy.stats import binom

    right = np.arange(n + 1)
    above = [
        surely_above(k / n, wilson(k, n, z=Z_995)[0], p, level=shared(2)) for k in right.tolist()
    ]
    assert 2 * binom.pmf(right, n, p)[above].sum() < 0.0062
