"""The soundness bench: populations with an exact answer, and what it writes."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from populations import best, codes, group_table, leaky_population, record_table
from withhold.bench import find_recipe, run_recipe, soundness
from withhold.bench.plan_worlds import PLAN_KINDS
from withhold.bench.population import (
    PeoplePopulation,
    Population,
    draw_people,
    draw_population,
)
from withhold.bench.release_worlds import KINDS
from withhold.core.progress import Silent


def test_the_exact_answer_of_a_small_population() -> None:
    """Two classes, 60 : 40, told apart by 0.9 : 0.1 and 0.2 : 0.8."""
    world = Population(np.diag([0.6, 0.4]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    assert best(world) == pytest.approx(0.54 + 0.32)
    assert best(leaky_population(7)) == pytest.approx(1)


def test_a_large_sample_is_the_population() -> None:
    rng = np.random.default_rng(0)
    world, people = draw_population(rng), draw_people(rng)
    np.testing.assert_allclose(record_table(world, 10**7, rng) / 1e7, codes(world), atol=2e-3)
    found = group_table(people, 200_000, rng) / 200_000
    assert found.sum() == pytest.approx(1)
    exact = np.tensordot(people.shares, people.inside, axes=1) @ people.channel
    np.testing.assert_allclose(found, exact, atol=5e-3)


def test_a_group_weighs_one() -> None:
    inside = np.array([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    people = PeoplePopulation(np.array([0.5, 0.5]), inside, np.eye(2))
    table = group_table(people, 10, np.random.default_rng(0))
    np.testing.assert_allclose(table.sum(), 10)
    np.testing.assert_allclose(table, np.round(table))  # each is of one kind, whatever its size


def test_populations_are_varied() -> None:
    worlds = [draw_population(np.random.default_rng(seed)) for seed in range(100)]
    for world in worlds:
        assert world.joint.sum() == pytest.approx(1)
        np.testing.assert_allclose(world.channel.sum(axis=1), 1)
        assert world.joint.sum(axis=1).max() - 1e-9 <= best(world) <= 1 + 1e-9
    assert min(best(w) for w in worlds) < 0.05
    assert max(best(w) for w in worlds) > 0.99


def test_what_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soundness, "WORLDS", 2)
    result = run_recipe(find_recipe("soundness"), tmp_path, progress=Silent())
    assert {row.kind for row in result.rows} == {*KINDS, *PLAN_KINDS}
    never = ("given", "plan")
    assert all(row.exceeded == 0 for row in result.rows if row.claim.startswith(never))
    text = json.loads((tmp_path / "soundness.json").read_text())
    assert len(text["rows"]) == len(result.rows)
    assert sum(row.kind in KINDS for row in result.rows) == 16
    assert "| discrete | later: one record | 2 |" in (tmp_path / "table.md").read_text()
    result.print()
    assert "bound exceeded" in capsys.readouterr().out


def test_a_bound_that_is_too_low_is_noticed() -> None:
    later, given, plan = (f"{of}: one record" for of in ("later", "given", "plan"))
    cases = ((later, 5, True), (later, 6, False), (given, 1, False), (plan, 1, False))
    for claim, exceeded, kept in cases:
        row = soundness.SoundnessRow("discrete", claim, 100, exceeded, 0.1, 0)
        assert soundness.SoundnessResult((row,), 1.0).sound == kept


@pytest.mark.slow
def test_counting_probabilities_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that sums W(j | x) instead of the draws is false for repeated records."""
    module = importlib.import_module("withhold.certificate.certify_bundle")

    def by_probabilities(channel: Any, held: Any, counts: Any, *_: Any) -> Any:
        w = channel.probabilities(held.x).astype(np.float64)
        for count in counts:
            known = count.attribute.codes >= 0
            np.add.at(count.records.table, count.attribute.codes[known], w[known])
        return channel.draw(held.x)

    def exceeded() -> int:
        worlds = [KINDS["discrete"](np.random.default_rng(seed)) for seed in range(30)]
        return sum(w.bound is not None and w.truth > w.bound for w in worlds)

    honest = exceeded()
    assert honest <= 4
    monkeypatch.setattr(module, "_count", by_probabilities)
    assert exceeded() >= honest + 3
