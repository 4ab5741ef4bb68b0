"""The elimination bench: what it measures and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from withhold.bench import elimination_remedies, find_recipe, run_recipe
from withhold.core.progress import Silent


@pytest.mark.slow
def test_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"solver": "barycentre", "use_labels": True}
    monkeypatch.setattr(elimination_remedies, "WORLDS", ((2, 400),))
    monkeypatch.setattr(
        elimination_remedies, "WAYS", {"many codes": {**quick, "codes": 40}, "chosen": dict(quick)}
    )
    monkeypatch.setattr(elimination_remedies, "SEEDS", (0, 1))
    result = run_recipe(find_recipe("elimination"), tmp_path, progress=Silent())
    many, chosen = result.rows
    assert many.codes > chosen.codes
    # A hard plan with few rows a code is read by whoever knows the other labels.
    assert min(many.others) > max(chosen.floor) + 0.1
    assert json.loads((tmp_path / "elimination.json").read_text())["rows"][0]["way"] == "many codes"
    assert "| 2, 400 | many codes |" in (tmp_path / "table.md").read_text()
