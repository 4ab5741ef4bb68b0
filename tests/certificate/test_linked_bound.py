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

from withhold.certificate.bound import plug_in
from withhold.certificate.linked_bound import SIZES, bound_of, linked_rate

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
