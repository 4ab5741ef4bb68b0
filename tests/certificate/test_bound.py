"""The bound: known answers, what must never change it, and that it is seldom wrong."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from populations import best, group_table, leaky_population, record_table
from withhold.bench.population import draw_people, draw_population
from withhold.certificate.bound import (
    Tally,
    chernoff,
    mcdiarmid,
    plug_in,
    self_bounding,
    upper_bound,
)

BOUNDS = (mcdiarmid, self_bounding, chernoff)
shares = st.floats(0, 1)
units = st.integers(1, 10**6)
confidences = st.floats(0.01, 0.9999)


@st.composite
def tables(draw: st.DrawFn) -> tuple[npt.NDArray[np.float64], int]:
    """Counts of m records by class and code."""
    k, n, m = draw(st.integers(1, 6)), draw(st.integers(1, 8)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tally = Tally(k, n)
    tally.add(rng.integers(0, n, m), rng.integers(0, k, m))
    return tally.table, m


# --- known answers ----------------------------------------------------------------------------


def test_the_formulas_at_one_point() -> None:
    """m = 1,000, B^ = 0.1, confidence 95 %: worked out by hand."""
    least = log(20)
    assert mcdiarmid(0.1, 1000, 0.95) == pytest.approx(0.1 + sqrt(least / 2000))
    by_hand = (100 + least + sqrt(least**2 + 200 * least)) / 1000
    assert self_bounding(0.1, 1000, 0.95) == pytest.approx(by_hand)
    v = chernoff(0.1, 1000, 0.95)
    assert 1000 * (0.1 * log(0.1 / v) + 0.9 * log(0.9 / (1 - v))) == pytest.approx(least)
    assert v < by_hand < mcdiarmid(0.1, 1000, 0.95)


def test_the_ends_of_the_scale() -> None:
    for bound in BOUNDS:
        assert bound(1.0, 50, 0.95) == 1.0
        assert bound(0.5, 1, 0.999999) <= 1.0
    assert chernoff(0.0, 10, 0.95) == pytest.approx(1 - 0.05**0.1)
    assert upper_bound(0.5, 10**12, 0.95).value == pytest.approx(0.5, abs=1e-5)


def test_the_plug_in_of_a_small_table() -> None:
    """Two codes, two classes: 3 of the first and 4 of the second record set are named rightly."""
    assert plug_in(np.array([[3.0, 1.0], [2.0, 4.0]]), 10) == pytest.approx(0.7)
    assert plug_in(np.array([[5.0], [3.0], [2.0]]), 10) == 0.5  # one code: the majority


def test_a_channel_that_names_the_class_is_bounded_by_one() -> None:
    table = record_table(leaky_population(), 500, np.random.default_rng(0))
    assert plug_in(table, 500) == 1.0
    assert upper_bound(plug_in(table, 500), 500, 0.95).value == 1.0


# --- what it may not do -----------------------------------------------------------------------


@given(shares, units, confidences)
def test_no_bound_is_below_the_plug_in_or_above_one(p: float, m: int, confidence: float) -> None:
    for bound in (*BOUNDS, lambda *a: upper_bound(*a).value):
        assert p <= bound(p, m, confidence) <= 1


@given(shares, units, confidences)
def test_chernoff_is_the_smallest(p: float, m: int, confidence: float) -> None:
    """Why: kl(p, q) >= 2 (q - p)^2 and >= (q - p)^2 / 2q."""
    smallest = chernoff(p, m, confidence)
    assert smallest <= mcdiarmid(p, m, confidence) + 1e-9
    assert smallest <= self_bounding(p, m, confidence) + 1e-9
    assert upper_bound(p, m, confidence).value <= smallest


@given(shares, shares, units, units, confidences, confidences)
def test_it_grows_with_leak_and_confidence_and_shrinks_with_records(
    p: float, q: float, m: int, n: int, one: float, two: float
) -> None:
    for bound in BOUNDS:
        assert bound(min(p, q), m, one) <= bound(max(p, q), m, one) + 1e-12
        assert bound(p, max(m, n), one) <= bound(p, min(m, n), one) + 1e-12
        assert bound(p, m, min(one, two)) <= bound(p, m, max(one, two)) + 1e-12


@given(tables(), st.integers(0, 2**32))
def test_names_of_classes_and_codes_do_not_matter(
    made: tuple[npt.NDArray[np.float64], int], seed: int
) -> None:
    (table, m), rng = made, np.random.default_rng(seed)
    k, n = table.shape
    shuffled = table[rng.permutation(k)][:, rng.permutation(n)]
    assert plug_in(shuffled, m) == pytest.approx(plug_in(table, m), abs=1e-12)


@given(tables())
def test_merging_codes_never_tells_more(made: tuple[npt.NDArray[np.float64], int]) -> None:
    """Data processing: whoever sees less, reads less; a random merge too."""
    table, m = made
    n = table.shape[1]
    merged = np.add.reduceat(table, np.arange(0, n, 2), axis=1)
    assert plug_in(merged, m) <= plug_in(table, m) + 1e-12
    noisy = np.random.default_rng(n).dirichlet(np.ones(3), n)
    assert plug_in(table @ noisy, m) <= plug_in(table, m) + 1e-12


@given(tables())
def test_it_lies_between_the_majority_and_one(made: tuple[npt.NDArray[np.float64], int]) -> None:
    table, m = made
    assert table.sum(axis=1).max() / m - 1e-9 <= plug_in(table, m) <= 1


@given(tables(), st.integers(0, 2**32))
def test_one_record_moves_it_by_at_most_one(
    made: tuple[npt.NDArray[np.float64], int], seed: int
) -> None:
    """The bounded difference, and sum_i (Z - Z^(i)) <= Z: what two of the three rest on."""
    k, n = made[0].shape
    rng = np.random.default_rng(seed)
    w, classes = rng.integers(0, n, 12), rng.integers(0, k, 12)

    def z(rows: npt.NDArray[np.int64]) -> float:
        tally = Tally(k, n)
        tally.add(w[rows], classes[rows])
        return float(tally.table.max(axis=0).sum())

    everyone = np.arange(12)
    losses = [z(everyone) - z(np.delete(everyone, i)) for i in everyone]
    assert min(losses) >= -1e-12
    assert max(losses) <= 1 + 1e-12
    assert sum(losses) <= z(everyone) + 1e-9


# --- soundness --------------------------------------------------------------------------------


def test_the_truth_is_seldom_above_it() -> None:
    """200 populations, at 60 % so that there is something to count."""
    wrong = dict.fromkeys(BOUNDS, 0)
    for seed in range(200):
        rng = np.random.default_rng([1, seed])
        world, m = draw_population(rng), int(rng.integers(20, 400))
        p = plug_in(record_table(world, m, rng), m)
        for bound in BOUNDS:
            wrong[bound] += best(world) > bound(p, m, 0.6) + 1e-12
    for count in wrong.values():
        assert count <= binom.ppf(0.999, 200, 0.4)


def test_a_coin_is_near_the_promise() -> None:
    """Nobody is bounded far too generously: a rare class and one code, the hardest there is."""
    rng = np.random.default_rng(0)
    hits = rng.binomial(100, 0.9, 4000) / 100
    wrong = np.mean([upper_bound(max(p, 1 - p), 100, 0.8).value < 0.9 for p in hits])
    assert 0.02 < wrong <= 0.2


def test_groups_are_bounded_too() -> None:
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng([2, seed])
        people, groups = draw_people(rng), int(rng.integers(10, 200))
        p = plug_in(group_table(people, groups, rng), groups)
        wrong += best(people) > upper_bound(p, groups, 0.8).value + 1e-12
    assert wrong <= binom.ppf(0.999, 200, 0.2)


def test_the_self_bounding_tail_holds_where_it_can_be_counted() -> None:
    """One code, two classes, p = 0.3: Z is a binomial's larger side; its exact lower tail."""
    m, p = 60, 0.3
    k = np.arange(m + 1)
    weight, z = binom.pmf(k, m, p), np.maximum(k, m - k)
    mean = float((weight * z).sum())
    for t in range(1, 12):
        assert weight[z <= mean - t].sum() <= exp(-(t**2) / (2 * mean)) + 1e-12
