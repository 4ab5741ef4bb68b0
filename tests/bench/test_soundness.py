"""The soundness bench: populations with an exact answer, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from withhold.bench import find_recipe, run_recipe, soundness
from withhold.bench.population import (
    People,
    Population,
    draw_people,
    draw_population,
    leaky_population,
)
from withhold.progress import Silent


def test_the_exact_answer_of_a_small_population() -> None:
    """Two classes, 60 : 40, told apart by 0.9 : 0.1 and 0.2 : 0.8."""
    world = Population(np.diag([0.6, 0.4]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    assert world.best == pytest.approx(0.54 + 0.32)
    assert leaky_population(7).best == pytest.approx(1)


def test_a_large_sample_is_the_population() -> None:
    rng = np.random.default_rng(0)
    world, people = draw_population(rng), draw_people(rng)
    np.testing.assert_allclose(world.table(10**7, rng) / 1e7, world.codes, atol=2e-3)
    found = people.table(200_000, rng) / 200_000
    assert found.sum() == pytest.approx(1)
    exact = np.tensordot(people.shares, people.inside, axes=1) @ people.channel
    np.testing.assert_allclose(found, exact, atol=5e-3)


def test_a_group_weighs_one() -> None:
    inside = np.array([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    people = People(np.array([0.5, 0.5]), inside, np.eye(2))
    table = people.table(10, np.random.default_rng(0))
    np.testing.assert_allclose(table.sum(), 10)
    np.testing.assert_allclose(table, np.round(table))  # each is of one kind, whatever its size


def test_populations_are_varied() -> None:
    worlds = [draw_population(np.random.default_rng(seed)) for seed in range(100)]
    for world in worlds:
        assert world.joint.sum() == pytest.approx(1)
        np.testing.assert_allclose(world.channel.sum(axis=1), 1)
        assert world.joint.sum(axis=1).max() - 1e-9 <= world.best <= 1 + 1e-9
    assert min(w.best for w in worlds) < 0.05
    assert max(w.best for w in worlds) > 0.99


def test_what_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soundness, "POPULATIONS", 12)
    result = run_recipe(find_recipe("soundness"), tmp_path, progress=Silent())
    assert result.sound
    assert all(row.populations == 12 for row in result.rows)
    text = json.loads((tmp_path / "soundness.json").read_text())
    assert text["leaky"]["bound"] == 1.0
    assert "| records: as certified | 12 |" in (tmp_path / "table.md").read_text()
    result.print()
    assert "truth above it" in capsys.readouterr().out
    again = run_recipe(find_recipe("soundness"), tmp_path, progress=Silent())
    assert again.rows == result.rows


def test_a_bound_that_is_too_low_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = soundness.Row("records: as certified", 100, 6, 0.1, 0)
    leaky = {"records": 10, "truth": 1.0, "plug_in": 1.0, "bound": 1.0}
    assert not soundness.SoundnessResult((row,), leaky, 1.0).sound
    kept = soundness.Row("records: as certified", 100, 5, 0.1, 0)
    assert soundness.SoundnessResult((kept,), leaky, 1.0).sound
    assert not soundness.SoundnessResult((kept,), leaky | {"bound": 0.9}, 1.0).sound
