"""The truth about a plan: against enumeration, and claims that are false are noticed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
import pytest

from withhold.bench import plan_soundness
from withhold.bench.given_attacks import at_least
from withhold.bench.held_back_soundness import eliminated
from withhold.bench.less_monte_carlo import less_monte_carlo
from withhold.bench.plan_soundness import judge_plan
from withhold.bench.plan_truth import best_of, best_of_one, learned_rates, multisets, redrawn, shown
from withhold.bench.plan_worlds import PLAN_KINDS
from withhold.certificate import plan_tally
from withhold.certificate.elimination_bound import ALL_BUT_ONE, known_bounds


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    with less_monte_carlo():
        yield


def _by_enumeration(w: np.ndarray, s: np.ndarray, r: int) -> float:
    """B_r from all ordered choices of r rows of a class and all codes that they may show."""
    total, sizes = 0.0, np.bincount(s)
    for y in product(range(w.shape[1]), repeat=r):
        chances = []
        for c, size in enumerate(sizes):
            choices = list(permutations(np.flatnonzero(s == c), r))
            p = [np.prod([w[i, j] for i, j in zip(rows, y, strict=True)]) for rows in choices]
            chances.append(size / len(s) * np.mean(p))
        total += max(chances)
    return total


def test_several_rows_by_enumeration() -> None:
    rng = np.random.default_rng(0)
    w, s = rng.dirichlet(np.ones(3), 9), np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    for r in (1, 2, 3):
        assert best_of(w, s, r) == pytest.approx(_by_enumeration(w, s, r))
    assert best_of(w, s, 1) == pytest.approx(best_of_one(w, s))
    assert multisets(w, 2).sum() == pytest.approx(1)


def test_known_answers() -> None:
    s = np.array([0] * 6 + [1] * 4)
    equal = np.full((10, 2), 0.5)
    named = np.eye(2)[s]
    for r in (1, 3):
        assert best_of(equal, s, r) == pytest.approx(0.6)
        assert best_of(named, s, r) == pytest.approx(1)
    # Hard and balanced: half of each class at each code. Five rows of the class of four: certain.
    hard = np.eye(2)[np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1])]
    assert best_of(hard, s, 1) == pytest.approx(0.6)
    assert best_of(hard, s, 5) == pytest.approx(1)
    assert best_of(np.full((10, 9), 1 / 9), s, 20) is None  # too many multisets


@pytest.mark.parametrize("kind", list(PLAN_KINDS))
def test_draws_follow_the_plan(kind: str) -> None:
    """The shares of the draws under other keys are those of the plan, row by row."""
    rng = np.random.default_rng(3)
    world = PLAN_KINDS[kind](rng)
    plan, drawn = shown(world), redrawn(world, 200, rng)
    found = np.stack([(drawn == symbol).mean(axis=0) for symbol in plan.symbols], axis=1)
    deviation = np.sqrt(plan.w * (1 - plan.w) / 200)
    assert (np.abs(found - plan.w) <= 5.5 * deviation + 0.02).all()
    rates = learned_rates(drawn, plan.s)
    assert rates.mean() == pytest.approx(best_of_one(plan.w, plan.s), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(PLAN_KINDS))
def test_claims_hold_and_say_something(kind: str) -> None:
    judged = [j for seed in range(3) for j in judge_plan(kind, np.random.default_rng(seed))]
    assert all(j.least <= j.bound + 1e-6 for j in judged)
    names = {j.claim for j in judged}
    assert {"plan: one record", "plan: 5 records of one class", "plan: one record, redrawn"} < names
    one = [j for j in judged if j.claim == "plan: one record"]
    # Figures are stated in steps of a point in so small worlds, rounded up.
    assert all(-1e-6 < j.bound - j.truth < 0.01 + 1e-6 for j in one)


def test_false_claims_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that states the floor for several rows, whatever the plan, is found out."""
    monkeypatch.setattr(plan_tally, "plan_linked", lambda w, s, r: np.bincount(s).max() / len(s))
    found = [
        j
        for seed in range(6)
        for j in judge_plan("exact, unbalanced", np.random.default_rng(seed))
        if j.claim.startswith("plan: 5 records")
    ]
    assert any(j.least > j.bound + 1e-6 for j in found)


def test_draws_that_are_not_of_the_plan_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the sampler gave every class a code of its own, the redrawn attack would show it."""
    real = plan_soundness.redrawn
    monkeypatch.setattr(
        plan_soundness,
        "redrawn",
        lambda world, times, rng: np.where(
            rng.random((times, len(world.data))) < 0.8,
            shown(world).symbols[shown(world).s % len(shown(world).symbols)],
            real(world, times, rng),
        ),
    )
    judged = judge_plan("exact", np.random.default_rng(2))
    one = next(j for j in judged if j.claim == "plan: one record, redrawn")
    assert one.least > one.bound + 0.01


def test_a_limit_is_below_the_mean() -> None:
    rng = np.random.default_rng(0)
    above = sum(at_least(rng.normal(0.5, 0.1, 60), step=0.01) > 0.5 for _ in range(500))
    assert above == 0
    assert 0.4 < at_least(rng.normal(0.5, 0.1, 60), step=0.01) < 0.5


def test_a_limit_allows_for_draws_that_were_not_seen() -> None:
    """One record of 92 is lost in 7 of 100 releases: 1 in 80 times, 60 releases show none."""
    rng = np.random.default_rng(0)
    drawn = (51 - (rng.random((2000, 60)) < 0.07)) / 92
    truth = (51 - 0.07) / 92
    assert any(np.ptp(rates) == 0 and rates.mean() > truth for rates in drawn)
    assert all(at_least(rates, step=1 / 92) <= truth for rates in drawn)
    assert at_least(np.full(60, 51 / 92), step=1 / 92) > 50 / 92


@pytest.mark.parametrize("leave", [570, 450])
def test_the_attack_on_rows_held_back_reaches_its_bound(leave: int) -> None:
    """Six rows of each of four classes at 25 codes: the claim is exact, so it is met, and an attack
    that knew less, or a claim that said more, would differ."""
    s, column = (np.repeat(a.reshape(-1), 6) for a in np.meshgrid(np.arange(4), np.arange(25)))
    bound = known_bounds(np.full((4, 25), 6.0), leave=leave)[ALL_BUT_ONE]
    rng = np.random.default_rng(0)
    rates = np.array([eliminated(s, column, leave, rng) for _ in range(200)])
    assert rates.mean() == pytest.approx(bound, abs=4 * rates.std() / np.sqrt(200))
    assert 0.3 < bound < 0.95
