"""The recipes of MaSS on clips, on drawn files in the layouts of its sets, with tiny settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clip_folders import make_hmdb51, make_pa_hmdb51, make_vispr
from support import TINY
from withhold.audit.attackers import Logistic
from withhold.bench import Recipe, find_recipe, paper_tables, run_recipe
from withhold.bench.media_features import tagged
from withhold.bench.recipe import Extracted
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset

TABLES = [f"{test}-table{n}" for test in ("vispr", "pa-hmdb") for n in (4, 15, 16)]


@pytest.mark.parametrize("name", TABLES)
def test_the_paper_is_beside_every_table(name: str) -> None:
    recipe = find_recipe(name)
    assert recipe.data == "hmdb51-vispr"
    assert recipe.config == {"preset": "pa-hmdb"}
    assert [e.name for e in recipe.extractors] == ["r3d18"]
    told = {"privacy"} if name.startswith("vispr") else {"privacy", "action"}
    assert all(set(row.paper) == told for row in recipe.rows)
    assert recipe.rows[0].paper["privacy"] == (81.8 if name.startswith("vispr") else 79.7)


def small(name: str) -> Recipe:
    """A recipe of ours at 16 pixels, with few clips and other features."""
    recipe = find_recipe(name)
    settings = {**recipe.data_settings, "side": 16, "frames": 16, "clips": 2}
    if "every" in settings:
        settings["every"] = 5
    few = {
        "extractors": (Extracted(name="frame-stats"),),
        "data_settings": settings,
        "config": {**recipe.config, **TINY},
        "rows": (recipe.rows[0], recipe.rows[-1]),
    }
    return recipe.model_copy(update=few)


@pytest.mark.slow
def test_the_code_path_of_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    make_hmdb51(data / "hmdb51", videos=20)
    make_pa_hmdb51(data / "pa-hmdb51", data / "hmdb51", videos=4)
    make_vispr(data / "vispr", images=120)
    monkeypatch.setenv("WITHHOLD_DATA", str(data))
    monkeypatch.setattr(paper_tables, "ATTACKERS", (Logistic(),))
    for name in ("vispr-table4", "pa-hmdb-table4"):
        run_recipe(small(name), tmp_path / "out" / name, progress=Silent())
        written = json.loads((tmp_path / "out" / name / "results.json").read_text())
        original, mass = written["rows"]
        assert set(original["prevalence"]) == {"privacy"}
        assert 0.2 < original["prevalence"]["privacy"] < 0.8
        assert original["informed"]["action"] == 1.0  # a square moves down, or to the right
        assert mass["distortion"] > 0
        text = (tmp_path / "out" / name / "table.md").read_text()
        assert "privacy (cMAP)" in text
        assert "a guess has that of the prevalence" in text
    # The train part is the same, and so are the fits: the second recipe found them.
    assert mass["seconds"] < 2


def test_tags_are_a_multilabel_attribute() -> None:
    data = Dataset.of_labels(
        {"hat": ["yes", "no", None, "yes"], "build": ["slim", "broad", "broad", "broad"]}, 4
    )
    made = tagged(data, {"privacy": {"hat": "yes", "build": "broad"}})
    assert made.table["privacy"].to_pylist() == [["hat"], ["build"], None, ["hat", "build"]]
    assert made.attribute("privacy").classes == ("build", "hat")
    with pytest.raises(UserError, match="attribute 'hat' has no value 'maybe'"):
        tagged(data, {"privacy": {"hat": "maybe"}})
