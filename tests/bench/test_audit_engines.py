"""The bench of audits on engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_support import table
from withhold.bench import find_recipe
from withhold.bench.audit_engines import (
    AuditEngines,
    EngineAudit,
    EngineAudits,
    run_audit_engines,
    timeless,
)
from withhold.bench.recipe import Recipe
from withhold.bench.run import KINDS
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray itself
def test_the_evidence_is_the_same_on_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    sizes = {
        "suppress": "sex",
        "preserve": "word",
        "hidden": [],
        "quick": True,
        "engines": ["local:1", "ray:2"],
    }
    recipe = Recipe(title="small", kind="audit-engines", data_settings=sizes)
    data = Dataset.read(table())
    found = run_audit_engines(recipe, tmp_path, progress=Silent(), data=data)
    assert [row.engine for row in found.rows] == ["local:1", "ray:2"]
    assert all(row.attacks > 0 for row in found.rows)
    assert found.same_evidence
    assert (tmp_path / "audit-engines.json").exists()


def test_other_evidence_is_said_aloud() -> None:
    rows = (EngineAudit("ray:1", 10.0, "a"), EngineAudit("ray:2", 5.0, "b"))
    found = AuditEngines(10, 2, 2, rows)
    assert "DIFFERENT" in found.legend
    assert [line[2] for line in found.cells()[1]] == ["1.00", "2.00"]


def test_times_are_all_that_is_left_out() -> None:
    found = {"made": "now", "a": [{"seconds": 1.0, "accuracy": 0.5}], "seconds": {"attacks": 2}}
    assert timeless(found) == {"a": [{"accuracy": 0.5}]}


def test_the_recipe_is_whole() -> None:
    recipe = find_recipe("audit-engines")
    assert recipe.kind in KINDS
    assert EngineAudits(**recipe.data_settings).engines[-1] == "ray:2"
