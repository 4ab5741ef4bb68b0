"""Recipes of `kind: pixels` on drawn faces: one fit for gap and replace, figures, nothing twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from withhold.bench import Recipe, find_recipe, pixel_releases, run_recipe
from withhold.bench.pixel_figures import likeness
from withhold.core.progress import Silent
from withhold.core.settings import parse_yaml

pytestmark = pytest.mark.slow

SMALL = "{side: 16, epochs: 1, width: 2, depth: 2, reader_width: 2, noise: 4, epsilon: 0.02}"
RECIPE = f"""
title: small
kind: pixels
data: drawn-faces
data_settings: {{images: 80, people: 4, side: 32}}
suppress: smile
measure: [smile, glasses]
pixels: {{side: 16, shown: 50}}
method: replace
config: {SMALL}
rows:
  - {{label: original, method: identity}}
  - {{label: "gap, 0.02", method: gap, suppress: smile, config: {SMALL}}}
  - {{label: "replace, 0.02", suppress: smile}}
  - {{label: "codebook, 4", method: codebook, suppress: smile, config: {{codes: 4}}}}
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Path, object]:
    recipe = Recipe.model_validate(parse_yaml(RECIPE, "the recipe"))
    output = tmp_path_factory.mktemp("pixels")
    return recipe, output, run_recipe(recipe, output, progress=Silent())


def test_a_row_for_every_release_and_seed(done: tuple[Recipe, Path, object]) -> None:
    recipe, output, _ = done
    rows = json.loads((output / "results.json").read_text())["rows"]
    assert [r["label"] for r in rows] == [r.label for r in recipe.rows]
    assert all(len(r["seeds"]) == 1 for r in rows)
    original, gap, both, codes = (r["seeds"][0] for r in rows)
    assert original["distortion"] == 0
    assert original["ssim"] == pytest.approx(1)
    assert gap["success"] is None
    assert 0 <= both["success"] <= 1
    assert gap["distortion"] > 0
    assert set(gap["attack"]) == {"ResNet-10", "ResNet-18", "ResNet-18 from the raw model"}
    assert codes["bound"] is not None
    assert codes["bound"] >= 0.5
    assert gap["bound"] is None


def test_one_fit_serves_gap_and_replace() -> None:
    recipe = Recipe.model_validate(parse_yaml(RECIPE, "the recipe"))
    groups = [[row.label for row in rows] for rows in pixel_releases._fits(recipe)]
    assert groups == [["original"], ["gap, 0.02", "replace, 0.02"], ["codebook, 4"]]
    for name in ("utkface-pixels", "celeba-replace", "drawn-faces-independent"):
        of = {len(rows) for rows in pixel_releases._fits(find_recipe(name))}
        assert 2 in of, name


def test_a_second_run_computes_nothing(
    done: tuple[Recipe, Path, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, output, _ = done
    before = (output / "results.json").read_bytes()
    monkeypatch.setattr(pixel_releases, "_fit", None)
    monkeypatch.setattr(pixel_releases, "figures", None)
    run_recipe(recipe, output, progress=Silent())
    assert (output / "results.json").read_bytes() == before


def test_table_figure_and_examples(done: tuple[Recipe, Path, object]) -> None:
    from PIL import Image

    _, output, result = done
    table = (output / "table.md").read_text()
    assert "privacy loss: smile" in table
    assert "ResNet-18 from the raw model" in table
    assert "one seed" in result.legend  # type: ignore[attr-defined]
    assert (output / "tradeoff.svg").read_text().count("<polyline") == 0  # one point a curve
    with Image.open(output / "examples.png") as sheet:
        assert sheet.height == 4 * 100 + 4  # the original and three releases


def test_likeness_is_one_for_equal_images_and_less_for_others() -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3)).astype(np.uint8)
    assert likeness(images, images) == pytest.approx(1)
    assert likeness(images, 255 - images) < 0.5
