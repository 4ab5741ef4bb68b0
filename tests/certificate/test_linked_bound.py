"""Several records at once: against the exact answer where it can be computed."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.certificate import linked_bound
from withhold.certificate.bound import plug_in
from withhold.certificate.linked_bound import ERROR, SIZES, LinkedRate, bound_of, linked_rate

Counts = npt.NDArray[np.float64]


def exact(counts: Counts, r: int) -> float:
    """B~_r by adding up all N^r sequences of codes, drawn without replacement."""
    sizes = counts.sum(axis=1)
    prior = sizes / sizes.sum()
    total = float(prior[sizes < r].sum())
    for codes in product(range(counts.shape[1]), repeat=r):
        best = 0.0
        for s in np.flatnonzero(sizes >= r):
            seen: Counter[int] = Counter()
            chance = float(prior[s])
            for t, j in enumerate(codes):
                chance *= max(counts[s, j] - seen[j], 0) / (sizes[s] - t)
                seen[j] += 1
            best = max(best, chance)
        total += best
    return total


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 3), st.integers(1, 5))
def test_monte_carlo_finds_the_exact_answer(seed: int, k: int, n: int, r: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 12, (k, n)).astype(float)
    counts[:, 0] += 1
    found = linked_rate(counts, r)
    assert found.mean == pytest.approx(exact(counts, r), abs=0.03)
    assert found.at_most(1e-9) >= exact(counts, r) - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_drawing_finds_what_enumerating_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(seed).integers(0, 12, (4, 3)).astype(float) + 2
    truth = linked_rate(counts, 5)
    assert truth.draws == 0
    assert truth.mean == pytest.approx(exact(counts, 5), abs=1e-12)
    monkeypatch.setattr(linked_bound, "_SAMPLES", 0)
    drawn = linked_rate(counts, 5, seed=seed)
    assert drawn.draws > 0
    assert drawn.mean == pytest.approx(truth.mean, abs=drawn.half_width(1e-6))


def test_equal_rows_have_no_error_whatever_their_classes() -> None:
    """60 people with the same codes; the commonest class has 30 of them. One has too few rows."""
    counts = np.tile(np.random.default_rng(0).integers(3, 9, 40), (60, 1)).astype(float)
    for r in SIZES:
        assert linked_rate(counts, r).at_most(1e-9) == 1 / 60
        assert linked_rate(counts, r, classes=np.arange(60) // 30).at_most(1e-9) == 0.5
    size = float(counts[0].sum())
    small = np.concatenate([counts, 2 * np.eye(1, 40)])
    assert linked_rate(small, 5).at_most(1e-9) == (size + 2) / (60 * size + 2)


def test_equal_rows_are_counted_once_and_change_nothing() -> None:
    """Three kinds of people, twenty of each: as three classes, each is a twentieth of its kind."""
    kinds = np.random.default_rng(1).integers(1, 30, (3, 40)).astype(float)
    people = np.repeat(kinds, 20, axis=0)
    three, sixty = linked_rate(kinds, 5), linked_rate(people, 5)
    error = three.half_width(1e-4) + sixty.half_width(1e-4)
    assert sixty.mean == pytest.approx(three.mean / 20, abs=error)
    grouped = linked_rate(people, 5, classes=np.repeat(np.arange(3), 20))
    assert grouped.mean == pytest.approx(three.mean, abs=2 * error)


def test_people_of_a_class_add_up() -> None:
    """Against enumeration: the posterior of a class is the sum over its people."""
    counts = np.random.default_rng(2).integers(2, 9, (5, 3)).astype(float)
    classes = np.array([0, 0, 1, 1, 1])
    sizes, r = counts.sum(axis=1), 3
    truth = 0.0
    for codes in product(range(3), repeat=r):
        joint = np.zeros(2)
        for p in range(5):
            chance = sizes[p] / sizes.sum()
            for t, j in enumerate(codes):
                chance *= max(counts[p, j] - codes[:t].count(j), 0) / (sizes[p] - t)
            joint[classes[p]] += chance
        truth += joint.max()
    assert linked_rate(counts, r, classes=classes).mean == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 60])
def test_balance_up_to_rounding_is_known_to_within_the_target(classes: int) -> None:
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.full(60, 5.0))
    sizes = rng.integers(800, 1600, classes)
    counts = np.stack([np.floor(n * shares + rng.random(60)) for n in sizes])
    rates = [linked_rate(counts, r) for r in SIZES]
    assert max(rate.half_width(1e-3) for rate in rates) <= ERROR
    prior = counts.sum(axis=1).max() / counts.sum()
    before = prior
    for rate in rates:  # more records never tell less
        assert rate.mean >= before - ERROR
        before = rate.mean


def test_stopping_when_it_looks_well_is_paid_for() -> None:
    once = LinkedRate(0.5, 0.1, 10_000, 0.0, looks=1)
    often = LinkedRate(0.5, 0.1, 10_000, 0.0, looks=6)
    spent = sum(0.01 / (k * (k + 1)) for k in range(1, 1000))
    assert spent < 0.01
    assert often.half_width(0.01) > once.half_width(0.01)
    assert often.half_width(0.01) == pytest.approx(once.half_width(0.01 * 2 / 42))


def test_one_record_is_the_certificate_of_one_record() -> None:
    counts = np.random.default_rng(0).integers(1, 50, (3, 8)).astype(float)
    assert linked_rate(counts, 1).mean == pytest.approx(
        plug_in(counts, int(counts.sum())), abs=0.01
    )


def test_balanced_codes_of_equal_classes_tell_nothing_together() -> None:
    counts = np.tile([40.0, 60.0, 100.0], (4, 1))
    for r in SIZES:
        assert linked_rate(counts, r).mean == pytest.approx(0.25, abs=1e-9)


def test_a_full_leak_is_one() -> None:
    counts = 100 * np.eye(5)
    for r in SIZES:
        assert linked_rate(counts, r).mean == pytest.approx(1.0)
        assert bound_of(linked_rate(counts, r), counts, r, 0.95) == 1.0


def test_classes_with_too_few_records_count_fully() -> None:
    counts = np.array([[3.0, 0.0], [97.0, 100.0]])
    assert linked_rate(counts, 5).mean == pytest.approx(1.0)
    assert linked_rate(np.array([[3.0, 0.0], [2.0, 1.0]]), 5).at_most(0.05) == 1.0


def test_the_bound_says_something_where_the_old_one_said_100_percent() -> None:
    """Two equal classes with code shares .55/.45: B_20 is known in closed form."""
    rng = np.random.default_rng(3)
    m, r, p = 40_000, 20, 0.55
    s = rng.integers(0, 2, m)
    j = (rng.random(m) < np.where(s == 1, p, 1 - p)).astype(int)
    counts = np.zeros((2, 2))
    np.add.at(counts, (s, j), 1)
    from scipy.stats import binom

    y = np.arange(r + 1)
    truth = float(np.maximum(binom.pmf(y, r, p), binom.pmf(y, r, 1 - p)).sum() / 2)
    assert truth < bound_of(linked_rate(counts, r), counts, r, 0.95) < truth + 0.06


def test_the_truth_is_seldom_above_the_bound() -> None:
    """500 samples of a population of three classes; r = 5."""
    rng = np.random.default_rng(5)
    inside = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]])
    prior = np.array([0.5, 0.3, 0.2])
    r = 5
    truth = 0.0
    for codes in product(range(3), repeat=r):
        truth += max(prior[s] * prod(inside[s, j] for j in codes) for s in range(3))
    above = 0
    for seed in range(200):
        counts = rng.multinomial(600, (prior[:, None] * inside).reshape(-1)).reshape(3, 3)
        above += truth > bound_of(
            linked_rate(counts.astype(float), r, seed=seed), counts.astype(float), r, 0.95
        )
    assert above <= 10
