"""r records of one class under a plan: against all sequences of codes and all tuples of records."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import numpy.typing as npt
import pytest

from withhold.certificate import plan_linked as module
from withhold.certificate.linked_bound import linked_rate
from withhold.certificate.mean_limit import mean_limit
from withhold.certificate.plan_linked import plan_linked, plan_linked_bound
from withhold.certificate.plan_posterior import PlanCodes

Plan = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def chances(rows: Plan, codes: tuple[int, ...]) -> float:
    """P_s(y) by adding up all tuples of different records of one class."""
    tuples = list(permutations(range(len(rows)), len(codes)))
    return sum(
        float(np.prod([rows[i, j] for i, j in zip(records, codes, strict=True)]))
        for records in tuples
    ) / len(tuples)


def exact(w: Plan, s: IntArray, r: int) -> float:
    """B_r by enumeration; classes with fewer than r records count fully."""
    total = 0.0
    able = [c for c in np.unique(s) if (s == c).sum() >= r]
    for codes in product(range(w.shape[1]), repeat=r):
        total += max((float((s == c).mean()) * chances(w[s == c], codes) for c in able), default=0)
    return total + float(np.mean([c not in able for c in s]))


def masses(w: Plan, s: IntArray) -> FloatArray:
    return np.stack([w[s == c].sum(axis=0, dtype=np.float64) for c in np.unique(s)])


def world(seed: int, sizes: tuple[int, ...], codes: int = 3) -> tuple[Plan, IntArray]:
    """A random plan, sharp or soft."""
    rng = np.random.default_rng(seed)
    s = np.repeat(np.arange(len(sizes)), sizes)
    sharp = float(rng.choice([0.2, 1.0, 5.0]))
    w = rng.dirichlet(np.full(codes, sharp), len(s))
    return w.astype(np.float32), s


def balanced(seed: int, k: int, size: int, codes: int, soft: float = 0.3) -> tuple[Plan, IntArray]:
    """Every class uses every code in the same share (Sinkhorn)."""
    rng = np.random.default_rng(seed)
    w = np.exp(rng.normal(size=(k, size, codes)) / soft)
    for _ in range(1000):
        w *= (size / codes) / w.sum(axis=1, keepdims=True)
        w /= w.sum(axis=2, keepdims=True)
    return w.reshape(-1, codes).astype(np.float32), np.repeat(np.arange(k), size)


@pytest.fixture
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 1500)


def test_weights_are_unbiased_and_have_the_limit_they_claim() -> None:
    w, s = world(0, (4, 5))
    plan = PlanCodes(w, s, 3)
    for codes in ((0, 0, 1), (2, 2, 2), (0, 1, 2)):
        y, among = np.array([codes]), np.array([[0, 1]])
        logs = plan.log_weights(y, among, number=40_000, rng=np.random.default_rng(1))
        for c in (0, 1):
            truth = chances(w[s == c], codes) / float(np.prod(plan.shares[c, list(codes)]))
            assert np.exp(logs[0, c]).mean() == pytest.approx(truth, rel=0.02)
        assert (logs.max(axis=2) <= plan.largest_weight() + 1e-6).all()


@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("replaced", [True, False])
def test_both_kinds_of_draws_find_the_exact_rate(r: int, replaced: bool) -> None:
    """With many weights the mean of either kind is B_r; with few it is larger, never smaller."""
    w, s = balanced(3, 3, 4, 3)
    plan, truth = PlanCodes(w, s, r), exact(w, s, r)
    assert truth > 1 / 3 + 0.005
    draw = module._drawn_with_replacement if replaced else module._posteriors
    means = []
    for samples, draws in ((1, 10_000), (200, 2_000)):
        level = module._Level(0.0, 1.0, classes=3, samples=samples, draws=draws)
        means.append(float(draw(plan, level, np.random.default_rng(5)).mean()))
    assert means[1] == pytest.approx(truth, abs=0.006)
    assert means[0] > truth


def test_an_attacker_told_fewer_classes_knows_more() -> None:
    w, s = balanced(4, 6, 10, 4)
    plan, rng = PlanCodes(w, s, 4), np.random.default_rng(0)
    for t in (0.0, 0.3, 0.5):
        parts = []
        for classes in (6, 3, 2):
            level = module._Level(0.0, 1.0, classes=classes, samples=2, draws=4000)
            v = module._posteriors(plan, level, rng)
            assert (v >= 1 / classes - 1e-9).all()
            parts.append(float(np.maximum(v - t, 0).mean()))
        assert parts[0] < parts[1] < parts[2]


@pytest.mark.slow
@pytest.mark.usefixtures("little_work")
def test_the_limit_holds_in_100_worlds() -> None:
    shapes = ((4, 4), (4, 4, 4), (3, 5), (2, 4, 6), (1, 4, 4))
    for seed in range(100):
        r = 2 + seed % 2
        w, s = world(seed, shapes[seed % len(shapes)])
        truth = exact(w, s, r)
        found = plan_linked(w, s, r, seed=seed)
        bound = plan_linked_bound(masses(w, s), np.bincount(s), r)
        assert truth - 1e-6 <= found <= bound + 1e-6
        assert np.bincount(s).max() / len(s) <= found <= 1


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5, 4)])
def test_the_limit_is_close_where_draws_are_cheap(sizes: tuple[int, ...]) -> None:
    w, s = world(1, sizes)
    for r in (2, 3):
        assert exact(w, s, r) <= plan_linked(w, s, r) <= exact(w, s, r) + 0.04


@pytest.mark.parametrize("r", [5, 20])
def test_hard_codes_are_drawn_without_replacement(r: int) -> None:
    """The hypergeometric figure of `linked_bound`, for classes of unequal sizes."""
    counts = np.array([[30, 20, 10, 20], [22, 28, 14, 16], [40, 30, 20, 10]])
    s = np.repeat(np.arange(3), counts.sum(axis=1))
    w = np.repeat(np.tile(np.eye(4), (3, 1)), counts.reshape(-1), axis=0).astype(np.float32)
    rate = linked_rate(counts.astype(float), r)
    found = plan_linked(w, s, r)
    assert rate.mean - rate.half_width(1e-3) <= found <= rate.mean + 0.02


def test_equal_rows_tell_nothing() -> None:
    s = np.repeat(np.arange(3), [60, 70, 80])
    shares = np.random.default_rng(0).dirichlet(np.ones(7)).astype(np.float32)
    for r in (1, 5, 50):
        assert plan_linked(np.tile(shares, (210, 1)), s, r) == pytest.approx(80 / 210, abs=1e-5)


@pytest.mark.usefixtures("little_work")
def test_softer_plans_and_fewer_records_tell_less() -> None:
    found = [
        [plan_linked(*balanced(7, 12, 30, 6, soft), r) for r in (2, 8, 16)] for soft in (0.2, 2.0)
    ]
    assert found[0][0] < found[0][1] < found[0][2]
    assert found[1][2] < found[0][2]
    assert found[1][0] < 1 / 12 + 0.01


def test_classes_with_fewer_records_count_fully() -> None:
    s = np.repeat(np.arange(3), [3, 400, 400])
    w = np.full((803, 4), 0.25, np.float32)
    assert plan_linked(w, s, 5) == pytest.approx(403 / 803, abs=1e-5)
    assert plan_linked(w[:6], s[:6] * 0, 7) == 1.0
    assert plan_linked_bound(masses(w, s), np.bincount(s), 5) == pytest.approx(403 / 803, abs=0.02)


def test_the_bound_without_samples_has_a_closed_form() -> None:
    """Balanced masses: max_s pi_s n_s^r / (n_s)_r. One record: the plug-in rate."""
    sizes = np.array([100, 300])
    shares = np.array([0.2, 0.3, 0.5])
    n_r = 300.0**3 / (300 * 299 * 298)
    assert plan_linked_bound(sizes[:, None] * shares, sizes, 3) == pytest.approx(0.75 * n_r)
    uneven = np.array([[90.0, 10.0], [100.0, 200.0]])
    assert plan_linked_bound(uneven, sizes, 1) == pytest.approx(0.75)
    assert plan_linked_bound(100 * np.eye(4), np.full(4, 100), 5) == 1.0


def test_a_plan_too_large_to_sample_gets_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    w, s = balanced(2, 3, 40, 5)
    bound = plan_linked_bound(masses(w, s), np.bincount(s), 4)
    assert plan_linked(w, s, 4) < bound - 0.005
    monkeypatch.setattr(module, "_CELLS", 10)
    assert plan_linked(w, s, 4) == pytest.approx(bound, abs=1e-9)


def test_the_same_seed_gives_the_same_limit_whatever_the_names_of_classes() -> None:
    w, s = balanced(5, 3, 12, 4)
    assert plan_linked(w, s, 3) == plan_linked(w, 10 * s + 7, 3)
    assert plan_linked(w, s, 3) != plan_linked(w, s, 3, seed=1)


def test_the_limit_of_a_mean_seldom_fails_and_is_narrow() -> None:
    rng = np.random.default_rng(0)
    above = sum(mean_limit((rng.random(200) < 0.02) * 1.0, 0.05) < 0.02 for _ in range(400))
    assert above <= 20
    assert np.log(1000) / 1000 <= mean_limit(np.zeros(1000), 1e-3) <= 0.008
    assert mean_limit(np.ones(50), 1e-3) == pytest.approx(1.0)
