"""The bench of exported models."""

from __future__ import annotations

import json
from pathlib import Path

from withhold.bench import find_recipe, recipe_names
from withhold.bench.onnx_speed import OnnxSizes, measure_onnx_speed
from withhold.bench.run import KINDS
from withhold.core.progress import Silent

SMALL = OnnxSizes(
    dimension=16, records=40, codes=8, hidden=(8,), images=3, side=8, width=2, turns=1
)


def test_both_sides_are_timed_and_agree(tmp_path: Path) -> None:
    result = measure_onnx_speed(tmp_path, progress=Silent(), sizes=SMALL)
    assert {t.name for t in result.timed} == {"mass", "pass", "codebook", "gap"}
    assert all(t.onnx > 0 and t.torch > 0 for t in result.timed)
    assert all(t.difference <= 1e-5 for t in result.timed)
    assert json.loads((tmp_path / "onnx-speed.json").read_text())["timed"]


def test_the_recipe_is_known() -> None:
    assert "onnx-speed" in dict(recipe_names())
    assert find_recipe("onnx-speed").kind in KINDS
