"""Elimination: the exact bound against enumeration, and attacks on groups of near codes."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest

from withhold.certificate import elimination_bound, rows_left
from withhold.certificate.code_levels import code_levels
from withhold.certificate.elimination_bound import known_bound, leave_one_out, measured_rates
from withhold.certificate.elimination_rules import Level, right_left_out
from withhold.certificate.given_release import ReleaseTally
from withhold.certificate.rows_left import exact_left
from withhold.records.attribute import Attribute

Counts = npt.NDArray[np.float64]


def enumerated(counts: npt.NDArray[np.int64], left: int) -> float:
    """The mean of sum_j max_s over every set of rows that may be left."""
    rows = np.repeat(np.arange(counts.size), counts.reshape(-1))
    found = [
        np.bincount(rows[list(kept)], minlength=counts.size).reshape(counts.shape).max(axis=0).sum()
        for kept in combinations(range(len(rows)), left)
    ]
    return float(np.mean(found)) / left


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_bound_is_that_of_every_set_of_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (3, 3))
    counts[0, 0] += 1
    for left in range(1, int(counts.sum()) + 1):
        assert exact_left(counts, left) == pytest.approx(enumerated(counts, left), abs=1e-12)


def test_monte_carlo_is_above_the_exact_bound_by_less_than_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = np.random.default_rng(0).poisson(30, (5, 20)).astype(float)
    exact = {left: known_bound(counts, left) for left in (30, 1500, 2700)}
    monkeypatch.setattr(rows_left, "_WORK", 0)
    for left, truth in exact.items():
        assert truth < known_bound(counts, left) < truth + 2 * elimination_bound.ERROR


def test_more_known_labels_never_tell_less() -> None:
    counts = np.random.default_rng(1).poisson(6, (4, 30)).astype(float)
    n = int(counts.sum())
    bounds = [known_bound(counts, left) for left in (n, 600, 500, 300, 100, 20)]
    assert bounds == sorted(bounds)
    assert bounds[0] == pytest.approx(counts.max(axis=0).sum() / counts.sum())


def test_levels_keep_clusters_whole() -> None:
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(10), 6)
    codes = 20 * rng.standard_normal((10, 3))[cluster] + 0.1 * rng.standard_normal((60, 3))
    levels = code_levels(codes)
    assert [len(np.unique(level)) for level in levels] == [32, 16, 8, 4]
    for level in levels[2:]:
        assert all(len(np.unique(level[cluster == c])) == 1 for c in range(10))
    for fine, coarse in pairwise(levels):
        assert all(len(np.unique(coarse[fine == g])) == 1 for g in np.unique(fine))


def test_levels_of_odd_codes() -> None:
    assert code_levels(np.zeros((5, 2))) == []
    assert code_levels(np.empty((4, 0))) == []
    twice = np.repeat(np.arange(9.0), 2)[:, None]
    assert all(np.array_equal(level[::2], level[1::2]) for level in code_levels(twice))
    missing = np.array([[0.0, np.nan], [1.0, np.inf], [2.0, 1.0], [9.0, np.nan], [20.0, 2.0]])
    assert [len(np.unique(level)) for level in code_levels(missing)] == [4]


def digits(classes: int, *, balanced: bool, seed: int) -> tuple[Counts, Counts]:
    """60 codes in ten clusters; if `balanced`, every class has each cluster 30 times."""
    rng = np.random.default_rng(seed)
    s = np.repeat(np.arange(classes), 300)
    digit = np.tile(np.repeat(np.arange(10), 30), classes)
    digit = digit if balanced else rng.integers(0, 10, len(s))
    counts = np.zeros((classes, 60))
    np.add.at(counts, (s, 6 * digit + rng.integers(0, 6, len(s))), 1)
    codes = np.repeat(5 * rng.standard_normal((10, 4)), 6, axis=0)
    return counts, codes + 0.3 * rng.standard_normal((60, 4))


@pytest.mark.parametrize("classes", [2, 20])
def test_groups_of_codes_show_a_balance_that_codes_hide(classes: int) -> None:
    counts, codes = digits(classes, balanced=True, seed=0)
    fine, coarse = measured_rates(counts), measured_rates(counts, codes)
    assert fine["all-but-one"] < 1 / classes + 0.05
    assert coarse["all-but-one"] == 1.0
    assert coarse["0.9"] > fine["0.9"] + 0.03


@pytest.mark.parametrize(("classes", "bias", "most"), [(2, 0.035, 0.75), (20, 0.004, 0.12)])
def test_choosing_among_levels_reads_no_leak_where_there_is_none(
    classes: int, bias: float, most: float
) -> None:
    """Over 100 worlds: next to no bias above the majority, and no world far above it."""
    found, naive, majority = [], [], []
    for seed in range(100):
        counts, codes = digits(classes, balanced=False, seed=seed)
        whole = counts.astype(np.int64)
        levels = [Level.of(group) for group in (np.arange(60), *code_levels(codes))]
        found.append(leave_one_out(whole, levels))
        naive.append(
            max(right_left_out(one, whole).sum(axis=1).max() for one in levels) / whole.sum()
        )
        majority.append(whole.sum(axis=1).max() / whole.sum())
    assert np.mean(found) < np.mean(majority) + bias
    assert max(found) < most
    assert np.mean(naive) > np.mean(found)  # what hindsight would read


def test_a_balance_in_some_groups_is_not_taken_for_noise() -> None:
    """Half of the groups hold every class equally often: there a missing row shows its class."""
    rng = np.random.default_rng(1)
    balanced, codes = digits(20, balanced=True, seed=1)
    loose = np.zeros((20, 30))
    np.add.at(loose, (np.repeat(np.arange(20), 150), rng.integers(0, 30, 3000)), 1)
    counts = np.concatenate([balanced[:, :30], loose], axis=1)
    found = measured_rates(counts, codes)["all-but-one"]
    assert 0.4 < found < 0.7


def test_preserved_values_stay_apart_in_groups() -> None:
    """Classes differ by preserved value only: the class that lacks is judged within the value."""
    rng = np.random.default_rng(4)
    counts, codes = digits(2, balanced=True, seed=4)
    both = np.concatenate([3 * counts * [[1], [0]] + counts, counts], axis=1)
    values = np.repeat([0, 1], 60)
    order = rng.permutation(120)
    found = measured_rates(
        both[:, order], np.concatenate([codes, codes])[order], values=values[order]
    )
    again = measured_rates(both, np.concatenate([codes, codes]), values=values)
    assert found["all-but-one"] == pytest.approx(again["all-but-one"], abs=0.05)
    assert again["all-but-one"] > 0.95


def test_a_tally_with_code_vectors_measures_groups() -> None:
    counts, codes = digits(20, balanced=True, seed=5)
    cells = np.repeat(np.arange(counts.size), counts.reshape(-1).astype(int))
    classes = tuple(f"c{i:02d}" for i in range(20))
    tally = ReleaseTally(suppress=["secret"])
    tally.add(cells % 60, {"secret": Attribute("secret", "categorical", classes, cells // 60)})
    plain, grouped = tally.claims()["secret"], tally.claims(codes)["secret"]
    assert plain.measured["all-but-one"] < 0.1
    assert grouped.measured["all-but-one"] == 1.0
    assert plain.model_copy(update={"measured": grouped.measured}) == grouped
