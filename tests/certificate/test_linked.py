"""Several records at once: against the exact answer where it can be had."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.bench.population import Population, draw_population, leaky_population
from withhold.certificate.bound import plug_in
from withhold.certificate.linked import SIZES, dependence, linked_bound, linked_plug_in


def exact(table: npt.NDArray[np.float64], r: int) -> float:
    """B_r by adding up all N^r sequences of codes."""
    prior = table.sum(axis=1) / table.sum()
    inside = table / table.sum(axis=1, keepdims=True)
    total = 0.0
    for codes in product(range(table.shape[1]), repeat=r):
        total += float((prior * inside[:, codes].prod(axis=1)).max())
    return total


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 3), st.integers(1, 5))
def test_it_is_above_the_exact_answer(seed: int, k: int, n: int, r: int) -> None:
    rng = np.random.default_rng(seed)
    table = 1000 * rng.dirichlet(np.full(k * n, rng.choice([0.3, 3.0, 100.0]))).reshape(k, n)
    assert linked_plug_in(table, r) >= exact(table, r) - 1e-9
    prior = table.sum(axis=1).max() / table.sum()
    assert prior + r * dependence(table) >= exact(table, r) - 1e-9


def test_one_record_is_the_certificate_of_one_record() -> None:
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(8), 3)
    assert exact(table, 1) == pytest.approx(plug_in(table, 3))


def test_codes_that_tell_nothing_tell_nothing_together() -> None:
    table = np.outer([60.0, 30.0, 10.0], [0.2, 0.3, 0.5])
    assert dependence(table) == pytest.approx(0, abs=1e-12)
    for r in SIZES:
        assert linked_plug_in(table, r) == pytest.approx(0.6, abs=1e-6)


def test_a_full_leak_is_one() -> None:
    table = leaky_population().codes
    for r in SIZES:
        assert linked_plug_in(table, r) == 1.0
        assert linked_bound(1000 * table, 1000, r, 0.95) == 1.0


@given(st.integers(0, 2**32))
def test_it_grows_with_records_at_once_and_lies_below_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = draw_population(rng).table(300, rng)
    found = [linked_plug_in(table, r) for r in (1, *SIZES)]
    assert found == sorted(found)
    for r in SIZES:
        assert linked_plug_in(table, r) <= linked_bound(table, 300, r, 0.95) + 1e-12


def test_the_expectation_is_not_below_the_truth() -> None:
    """E T^ >= (1 - 1/m) T, the step that takes the place of convexity: over 4,000 small samples."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(6)).reshape(2, 3)
    world, m = Population(joint, np.eye(3)), 5
    drawn = [dependence(world.table(m, rng)) for _ in range(4000)]
    assert np.mean(drawn) >= (1 - 1 / m) * dependence(world.codes) - 0.01


def test_one_unit_moves_the_dependence_by_at_most_three() -> None:
    rng = np.random.default_rng(0)
    m = 20
    for _ in range(300):
        counts = rng.multinomial(m, rng.dirichlet(np.full(12, 0.3))).reshape(3, 4).astype(float)
        out, into = rng.choice(np.flatnonzero(counts)), rng.integers(12)
        moved = counts.copy()
        moved.reshape(-1)[out] -= 1
        moved.reshape(-1)[into] += 1
        assert abs(dependence(moved) - dependence(counts)) <= 3 / m + 1e-12


def test_a_single_unit_bounds_nothing() -> None:
    assert linked_bound(np.array([[1.0]]), 1, 5, 0.95) == 1.0
