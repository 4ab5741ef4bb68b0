"""Recipes of `kind: clips` on moving figures: protocols, fresh models, figures, nothing twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from withhold.audit.attackers.pixel_cnn import PixelCnn
from withhold.bench import Recipe, clip_figures, clip_releases, run_recipe
from withhold.bench.clip_figures import by_video, guessing, learn, reading
from withhold.bench.clip_readers import target_model
from withhold.bench.clip_releases import ClipCase
from withhold.bench.clip_set import ClipSet, ClipTarget, PixelArray, planes
from withhold.bench.clip_settings import ClipSettings
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.core.settings import parse_yaml
from withhold.datasets.worlds import moving_figures
from withhold.records.attribute import Attribute

RECIPE = """
title: small
kind: clips
data: moving-figures
data_settings: {clips: 40, people: 3, frames: 16}
suppress: hat,sleeves
measure: [action]
clips:
  action: action
  attack: {seen: [hat, sleeves], person: [person]}
  height: 16
  width: 16
  kept: 16
  frames: 4
  action_models: ["r3d18:0.25"]
  attackers: ["resnet18:0.125", "r3d18:0.25"]
  frames_shown: 20
  clips_shown: 20
  most_epochs: 1
extractors: [{name: frame-stats}]
rows:
  - {label: original, method: identity}
  - {label: blur, method: blur, suppress: "hat,sleeves", paper_note: "55.2"}
  - {label: leace, method: leace, suppress: hat}
  - label: spact
    method: spact
    suppress: "hat,sleeves"
    config: {height: 16, width: 16, frames: 4, unet_width: 2, unet_depth: 1, epochs: 1,
             reconstruction_epochs: 1, action_epochs: 1, branch_epochs: 1,
             action_model: "r3d18:0.1", branch_model: "resnet18:0.125"}
"""


def recipe(**clips: object) -> Recipe:
    made = Recipe.model_validate(parse_yaml(RECIPE, "the recipe"))
    return made.model_copy(update={"clips": made.clips.model_copy(update=clips)})


@pytest.fixture(scope="module")
def figures() -> ClipSet:
    data = moving_figures(60, people=3, seed=1)
    assert data.media is not None
    clips = np.stack([item.content.frames for item in data.media.items()])  # type: ignore[union-attr]
    return ClipSet(clips, data.table)


@pytest.mark.slow
def test_a_recipe_from_start_to_end_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    result = run_recipe(recipe(), tmp_path, progress=Silent())
    rows = {r["label"]: r["seeds"][0] for r in json.loads(_text(tmp_path))["rows"]}
    assert set(rows) == {"original", "blur", "leace", "spact"}
    assert rows["original"]["attack"] == rows["original"]["ignorant"]
    assert rows["original"]["distortion"] == 0 < rows["blur"]["distortion"]
    attackers = {"resnet18:0.125", "resnet18:0.125 from the raw model", "r3d18:0.25"}
    assert set(rows["blur"]["attack"]["seen"]) == attackers
    assert rows["blur"]["attack"]["seen"]["r3d18:0.25"]["cmap"] is not None
    assert rows["blur"]["attack"]["person"]["r3d18:0.25"]["cmap"] is None
    assert "mlp-small" in rows["leace"]["attack"]["person"]
    table = (tmp_path / "table.md").read_text()
    assert "seen, cMAP ↓" in table
    assert "55.2" in table
    assert "one seed" in result.legend
    assert "<svg" in (tmp_path / "tradeoff.svg").read_text()
    with Image.open(tmp_path / "examples.png") as sheet:
        assert sheet.height == 3 * 100 + 4  # the original and two releases of clips
    with Image.open(tmp_path / "attention.png") as sheet:
        assert sheet.height == 4 * 100 + 4  # the original, both groups and the branch
    before = _text(tmp_path)
    monkeypatch.setattr(clip_releases, "figures", None)
    monkeypatch.setattr(clip_releases, "feature_figures", None)
    monkeypatch.setattr(clip_releases, "learn", None)
    run_recipe(recipe(), tmp_path, progress=Silent())
    assert _text(tmp_path) == before


@pytest.mark.slow
def test_only_models_of_the_originals_where_no_attacker_is_trained(tmp_path: Path) -> None:
    one = recipe(ignorant=True)
    one = one.model_copy(update={"rows": one.rows[:2]})
    result = run_recipe(one, tmp_path, progress=Silent())
    blurred = result.rows[1].seeds[0]
    assert blurred.attack == {}
    assert blurred.worst("person") == blurred.worst("person", fixed=True)


def test_novel_classes_are_those_that_the_fit_does_not_see(tmp_path: Path) -> None:
    held = ("clap", "jump")
    case = ClipCase.of(recipe(novel={"action": held}), tmp_path, Silent())
    assert not set(case.fit.labels["action"].to_pylist()) & set(held)
    assert set(case.sets["clips"].labels["action"].to_pylist()) == set(held)
    assert set(case.targets["action"].truth.classes) == set(held)
    with pytest.raises(UserError, match="no clip has action dive"):
        ClipCase.of(recipe(novel={"action": ("dive",)}), tmp_path, Silent())


def test_across_two_sets_each_has_its_own_labels(tmp_path: Path) -> None:
    other = {"images": 30, "people": 4, "side": 32}
    cross = recipe(
        private_data="drawn-faces", private_settings=other, attack={"smile": ("smile", "glasses")}
    )
    case = ClipCase.of(cross, tmp_path, Silent())
    assert len(case.fit) == 70
    assert case.fit.labels["smile"].null_count == 40
    assert case.fit.labels["action"].null_count == 30
    assert case.targets["smile"].of == "private"
    assert len(case.sets["private"]) == 30
    still = case.sets["private"].clips
    assert np.array_equal(still[:, 0], still[:, -1])  # an image is a clip of equal frames


def test_several_attributes_are_one_task_of_binary_labels(figures: ClipSet) -> None:
    found = figures.truth("both", ["hat", "skin"])
    assert found.classes == ("hat yes", *(f"skin {c}" for c in sorted(_values(figures, "skin"))))
    assert (found.codes[:, 1:].sum(axis=1) == 1).all()
    hats = np.array(figures.labels["hat"].to_pylist()) == "yes"
    assert np.array_equal(found.codes[:, 0], hats)
    target = ClipTarget.made("clips", figures, found, "")
    test = target.rows("test")
    assert guessing(target) == pytest.approx(_mixed_share(found.codes[test]))
    assert figures.truth("hat", ["hat"]).kind == "categorical"


def test_groups_read_together_share_one_truth_and_have_their_own_labels(tmp_path: Path) -> None:
    groups = {"one": ("hat", "skin"), "two": ("sleeves", "build")}
    case = ClipCase.of(recipe(attack=groups, together=True), tmp_path, Silent())
    apart = ClipCase.of(recipe(attack=groups), tmp_path, Silent())
    one, two = (case.targets[g] for g in groups)
    assert one.truth is two.truth
    for group, target in (("one", one), ("two", two)):
        alone = apart.targets[group]
        assert target.own.classes == alone.own.classes
        assert np.array_equal(target.own.codes, alone.own.codes)
        assert guessing(target) == guessing(alone)
    scores = np.arange(7, dtype=np.float32)[None]  # hat, 4 skins, sleeves, build
    assert one.scores(scores).tolist() == [[0, 1, 2, 3, 4]]
    assert two.scores(scores).tolist() == [[5, 6]]


@pytest.mark.slow
def test_groups_read_together_are_learned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[str] = []

    def counted(model: PixelCnn, clips: PixelArray, target: ClipTarget, seed: int) -> Any:
        learned.append(target.truth.name)
        return learn(model, clips, target, seed)

    for module in (clip_releases, clip_figures):
        monkeypatch.setattr(module, "learn", counted)
    groups = {"one": ("hat", "skin"), "two": ("sleeves", "build")}
    one = recipe(attack=groups, together=True)
    one = one.model_copy(update={"rows": one.rows[:2]})
    blurred = run_recipe(one, tmp_path, progress=Silent()).rows[1].seeds[0]
    assert sorted(learned) == ["action"] * 2 + ["private"] * 5  # of originals 1 + 2, blurred 1 + 3
    assert set(blurred.attack) == {"one", "two"}


def test_sub_clips_are_averaged_and_their_order_of_frames_counts(figures: ClipSet) -> None:
    how = ClipSettings(action="action", height=32, width=32, kept=8, frames=4, windows=10)
    model = target_model("r3d18:0.25", how)
    x = planes(figures.clips[:3])
    truth = figures.truth("action", ["action"])
    network = model.network_for(x, truth).eval()
    with torch.inference_mode():
        whole = network(torch.from_numpy(x))
        each = torch.stack([network(torch.from_numpy(x[:, i : i + 4])) for i in range(5)])
        turned = network(torch.from_numpy(x[:, ::-1].copy()))
    assert torch.allclose(whole, each.mean(dim=0), atol=1e-5)
    assert not torch.allclose(whole, turned, atol=1e-3)


def test_the_best_epoch_is_chosen_by_a_part_of_each_clip() -> None:
    how = ClipSettings(action="action", height=8, width=8, kept=16, frames=4, step=2)
    clips = np.arange(16)[None, :, None, None, None] * np.ones((2, 1, 3, 8, 8))
    frames = target_model("resnet18:0.125", how).judged(clips)
    assert frames[:, :, 0, 0, 0].tolist() == [[4, 12]] * 2
    middle = target_model("r3d18:0.25", how).judged(clips)
    assert middle[:, :, 0, 0, 0].tolist() == [[4, 5, 6, 7, 8, 9, 10]] * 2
    assert target_model("resnet18:0.125", how).judged(clips[:, :1]).shape[1] == 1


def test_records_of_one_video_are_averaged() -> None:
    truth = Attribute("a", "categorical", ("x", "y"), np.array([0, 0, 1, 1]))
    scores = np.log(np.array([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9], [0.6, 0.4]], np.float32))
    assert reading(scores, truth).accuracy == 0.5
    merged, said = by_video(scores, truth, np.array([7, 7, 3, 3]))
    assert said.codes.tolist() == [1, 0]
    assert reading(merged, said).accuracy == 1.0


@pytest.mark.slow
def test_a_planted_leak_is_read_by_every_architecture() -> None:
    """A class that shows as brightness, in clips of few pixels."""
    rng = np.random.default_rng(0)
    label = np.arange(80) % 2
    clips = rng.integers(0, 60, (80, 4, 16, 16, 3), dtype=np.uint8)
    clips[label == 1] += 120
    parts = np.array(["train", "train", "train", "val", "test"])[np.arange(80) // 2 % 5]
    target = ClipTarget("clips", Attribute("a", "categorical", ("x", "y"), label), parts, None)
    how = ClipSettings(height=16, width=16, kept=4, frames=4, frames_shown=2_500, clips_shown=600)
    from withhold.bench.clip_figures import read

    for name in ("resnet18:0.125", "mobilenet-v1:0.25", "inception-v1:0.25", "r3d18:0.25"):
        model = learn(target_model(name, how), clips, target, 0)
        assert read(model, clips, target).accuracy > 0.9, name


def test_published_weights_are_where_a_model_starts(tmp_path: Path) -> None:
    from dataclasses import replace

    from safetensors.torch import save_file

    from withhold.learn.nets.model_registry import image_model

    published = image_model("resnet18", 1000, width=0.125, side=16).state_dict()
    save_file({k: v.contiguous() for k, v in published.items()}, tmp_path / "w.safetensors")
    how = ClipSettings(
        height=16, width=16, pretrained={"resnet18:0.125": str(tmp_path / "w.safetensors")}
    )
    reader = replace(target_model("resnet18:0.125", how), most_epochs=0)
    x = np.random.default_rng(0).integers(0, 256, (8, 2, 3, 16, 16), dtype=np.uint8)
    truth = Attribute("a", "categorical", ("x", "y"), np.arange(8) % 2)
    state = reader.fit(x, truth, x, truth, seed=0).state()
    assert np.array_equal(state["scores.conv1.weight"], published["conv1.weight"].numpy())
    assert state["scores.fc.weight"].shape[0] == 2
    assert state["mean"].ravel()[0] == pytest.approx(255 * 0.485)


def test_a_sub_clip_must_fit() -> None:
    with pytest.raises(ValueError, match="longer than the 8 frames"):
        ClipSettings(kept=8, frames=8, step=2)


def _text(folder: Path) -> str:
    return (folder / "results.json").read_text()


def _values(clips: ClipSet, name: str) -> set[str]:
    return set(clips.labels[name].to_pylist())


def _mixed_share(codes: np.ndarray) -> float:
    share = (codes == 1).mean(axis=0)
    return float(share[(share > 0) & (share < 1)].mean())
