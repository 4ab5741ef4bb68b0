"""The power bench on a small leak and rivals of a known strength; what it writes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from withhold.audit import pool
from withhold.bench import audit_power, find_recipe, run_recipe
from withhold.bench.rivals import logistic_probe
from withhold.bench.row_cache import keep_row
from withhold.core.progress import Silent
from withhold.datasets.worlds.planted import PLANTED

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _one_process(monkeypatch):
    """Functions of a test are not found by other processes."""
    monkeypatch.setattr(pool, "_SMALL", 1e9)


SMALL = partial(PLANTED["xor"], 2000, d=4, separation=3.0)


def coin(x_train, codes, x_test, seed):
    """Somebody who does not look."""
    return np.random.default_rng(seed).integers(0, 2, len(x_test))


def test_the_way_from_majority_to_bayes(tmp_path):
    drawn = (
        audit_power.Draw(0, 0.5, 0.9, 0.88, "mlp", 1.0),
        audit_power.Draw(1, 0.5, 0.9, 0.90, "mlp", 1.0),
    )
    leak = audit_power.PlantedLeak("x", 10, 2, 0.9, drawn, {"half": 0.7, "none": 0.5})
    assert leak.way == pytest.approx(0.975)
    assert leak.rival_way("half") == pytest.approx(0.5)
    assert leak.rival_way("none") == pytest.approx(0)
    assert keep_row(tmp_path, "key", audit_power.PlantedLeak, lambda: leak) == leak


def test_an_xor_is_read_by_the_ladder_and_not_by_a_probe():
    rivals = {"logistic probe": logistic_probe, "coin": coin}
    leak = audit_power.measure_leak("xor", SMALL, rivals, progress=Silent(), seeds=(3, 4))
    assert leak.way > 0.95
    assert abs(leak.rival_way("logistic probe")) < 0.15
    assert abs(leak.rival_way("coin")) < 0.15
    assert [d.seed for d in leak.draws] == [3, 4]


def test_what_it_writes_and_that_it_goes_on(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(audit_power, "PLANTED", {"xor": SMALL})
    monkeypatch.setattr(audit_power, "HARDER", {})
    monkeypatch.setattr(audit_power, "RIVALS", {"coin": coin})
    monkeypatch.setattr(audit_power, "SEEDS", 2)
    monkeypatch.setattr(audit_power, "FULL", (2,))
    monkeypatch.setattr(audit_power, "without_leak", lambda seed: (True, seed == 0))
    monkeypatch.setattr(audit_power, "without_leak_of_people", lambda seed: seed == 1)
    result = run_recipe(find_recipe("audit-power"), tmp_path, progress=Silent())
    assert (result.held, result.alarms, set(result.full.values())) == (2, 1, {1.0})
    assert result.people_alarms == 1
    assert json.loads((tmp_path / "power.json").read_text())["leaks"][0]["name"] == "xor"
    text = (tmp_path / "table.md").read_text()
    assert "| leak | Bayes | audit | of the way | by | coin |" in text
    assert "held the majority in 2 of 2 seeds" in text
    result.print()
    assert "of the way" in capsys.readouterr().out
    monkeypatch.setattr(audit_power, "measure_leak", None)
    assert audit_power.measure_power(tmp_path, progress=Silent()).leaks == result.leaks


def test_without_a_leak_there_is_no_alarm():
    held, alarm = zip(*(audit_power.without_leak(seed) for seed in range(2)), strict=True)
    assert not any(audit_power.without_leak_of_people(seed) for seed in range(2))
    assert not any(alarm)
    assert all(isinstance(h, bool) for h in held)
