"""Settings of codebook side by side on made-up images: figures, spread, and nothing done twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from made_media import make_media
from withhold.bench import equal_proof, find_recipe, run_recipe
from withhold.core.progress import Silent

TEXT = """
title: "made-up faces"
kind: equal-proof
data: cmufaces
suppress: person
measure: [eyes]
extractors: [{name: pixels, settings: {side: 4}}]
rows:
  - {label: few, config: {solver: barycentre, use_labels: true, codes: 4}}
  - {label: more, config: {solver: barycentre, use_labels: true, codes: 8}}
"""


@pytest.mark.slow
def test_settings_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(make_media(tmp_path / "data")))
    monkeypatch.setattr(equal_proof, "SEEDS", (0, 1))
    (tmp_path / "made.yaml").write_text(TEXT)
    recipe, out = find_recipe(str(tmp_path / "made.yaml")), tmp_path / "out"
    result = run_recipe(recipe, out, progress=Silent())
    assert [(r.label, r.seed) for r in result.rows] == [
        ("few", 0), ("few", 1), ("more", 0), ("more", 1)
    ]  # fmt: skip
    for row in result.rows:
        assert 1 <= row.codes <= (4 if row.label == "few" else 8)
        assert 1 / 3 - 0.01 < row.one <= row.linked <= 1
        assert row.one <= row.later <= row.later_linked
        assert 0 <= row.kept["eyes"] <= 1
    header, lines = result.cells()
    assert len(lines) == 2
    assert {len(line) for line in lines} == {len(header)}
    assert "±" in lines[0][header.index("these rows")]
    assert json.loads((out / "results.json").read_text())["rows"][0]["label"] == "few"
    monkeypatch.setattr(equal_proof, "fit_bundle", None)
    assert run_recipe(recipe, out, progress=Silent()).rows == result.rows
