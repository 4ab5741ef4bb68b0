"""Recipes of `kind: clips`: their settings are valid, and the papers' run on small made files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from clip_folders import make_clip_sets
from withhold.bench import Recipe, find_recipe, run_recipe
from withhold.bench.clip_readers import target_model
from withhold.bench.clip_releases import ClipCase, attacked
from withhold.bench.fit_row import row_config, row_method
from withhold.bench.recipe import recipe_names
from withhold.core.progress import Silent
from withhold.learn.nets.model_registry import CLIP_MODELS
from withhold.methods import method_names, read_config
from withhold.methods.clips.clip_config import model_and_width

NAMES = [name for name, _ in recipe_names() if find_recipe(name).kind == "clips"]
PAPERS = [name for name in NAMES if find_recipe(name).data in ("ucf101", "hmdb51")]
SMALL = {
    "height": 16, "width": 16, "kept": 4, "frames": 4, "frames_shown": 8, "clips_shown": 8,
    "most_epochs": 1, "pretrained": {},
}  # fmt: skip
TINY = {
    "height": 16, "width": 16, "frames": 4, "unet_width": 4, "unet_depth": 1, "epochs": 1,
    "reconstruction_epochs": 0, "action_epochs": 0, "action_model": "r3d18:0.25",
}  # fmt: skip


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip_sets(tmp_path_factory.mktemp("sets"))


def small(name: str) -> Recipe:
    """The recipe with small clips and one small network of each kind."""
    recipe = find_recipe(name)
    how = recipe.clips
    cut = {"side": 16, "frames": 4, "step": 2}
    settings = {
        "action_models": ("r3d18:0.25",),
        "attackers": ("resnet18:0.125",),
        "target_settings": {**how.target_settings, **cut, "clips": 2},
        "private_settings": {**how.private_settings, "side": 16},
        "target_private_settings": {
            **how.target_private_settings,
            **(cut if how.target_private.startswith("pa") else {"side": 16}),
        },
    }
    if not how.target_private:
        settings.pop("target_private_settings")
    return recipe.model_copy(
        update={
            "data_settings": {**recipe.data_settings, **cut},
            "clips": how.model_copy(update=SMALL | settings),
        }
    )


def test_every_table_of_the_two_papers_has_a_recipe() -> None:
    tables = {f"spact-table{n}" for n in (3, 4, 5, 6, 7)}
    tables |= {f"spact-table2-{s}" for s in ("vispr1", "vispr2", "pahmdb")}
    assert {*PAPERS} == tables | {"hmdb51-vispr-meta", "ucf101-vispr-meta"}
    ours = {"lsa64-clips", "moving-figures-clips", "moving-figures-spact"}
    assert {*NAMES} == {*PAPERS, *ours}


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_valid_and_attackers_were_not_in_training(name: str) -> None:
    recipe = find_recipe(name)
    assert attacked(recipe)
    for model in (*recipe.clips.action_models, *recipe.clips.attackers):
        with torch.device("meta"):
            target_model(model, recipe.clips).scores(32, 2, 3)
    assert all(model_and_width(m)[0] in CLIP_MODELS for m in recipe.clips.action_models)
    for row in recipe.rows:
        method = row_method(recipe, row)
        config = read_config(method, row_config(recipe, row))
        inside = getattr(config, "privacy_models", ())
        assert not set(inside) & set(recipe.clips.attackers), row.label
        if name in PAPERS:
            assert row.paper_note or method == "identity"
            assert method == "identity" or method not in method_names("features")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_the_sets_of_the_papers_recipes_are_divided_as_they_say(
    name: str, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(sets))
    recipe = small(name)
    case = ClipCase.of(recipe, tmp_path, Silent())
    action, *groups = case.targets
    assert action == "action"
    assert case.targets[action].of == "clips"
    assert case.targets[action].video is not None  # two clips of each video
    assert len(case.sets["clips"]) > case.targets[action].video.max() + 1
    assert groups == [*attacked(recipe)]
    assert all(case.targets[g].of == "private" for g in groups)
    suppressed = recipe.suppress.split(",")
    assert all(0 < case.fit.labels[n].null_count < len(case.fit) for n in suppressed)
    assert case.fit.labels["action"].null_count > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hmdb51-vispr-meta", "spact-table6"])
def test_a_recipe_of_a_paper_runs_on_made_files(
    name: str, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(sets))
    recipe = small(name)
    wanted = {"identity", "adversarial", "downsample", recipe.method}
    rows, seen = [], set()
    for row in recipe.rows:
        method = row_method(recipe, row)
        if method in wanted - seen:
            seen.add(method)
            trained = method in ("adversarial", "meta", "spact")
            own = {"privacy_models": ["mobilenet-v2:0.25"], "privacy_epochs": 0}
            extra = own if method in ("adversarial", "meta") else {"branch_epochs": 0}
            extra |= {"branch_model": "resnet18:0.25"} if method == "spact" else {}
            config = {**TINY, "step": 1, **extra} if trained else row.config
            rows.append(row.model_copy(update={"config": config}))
    recipe = recipe.model_copy(update={"rows": tuple(rows), "config": {}})
    run_recipe(recipe, tmp_path, progress=Silent())
    found = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert {r["method"] for r in found} == seen
    table = (tmp_path / "table.md").read_text()
    assert all(row.paper_note in table for row in rows)
