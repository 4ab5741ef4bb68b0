"""`attention.png`: from the checkpoints of a fit of `spact`, without another training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from methods.clips.toy_clips import SPACT, clips
from support import key_of
from withhold.actions.fit import fit_bundle
from withhold.audit.attackers.pixel_cnn import PixelPrediction
from withhold.bench.clip_attention import FILE, draw_attention, heated
from withhold.bench.clip_readers import target_model
from withhold.bench.clip_settings import ClipSettings
from withhold.methods import Journal
from withhold.methods.clips import first_phases
from withhold.methods.clips.spact import fit as spact_fit
from withhold.methods.clips.spact.config import SpactConfig
from withhold.records.attribute import Attribute
from withhold.records.roles import Roles

ROLES = Roles.of("secret", "useful")
CONFIG = SpactConfig(**{**SPACT, "branch_model": "resnet18:0.125"})
FRAMES = np.random.default_rng(0).integers(0, 256, (4, 12, 12, 3), dtype=np.uint8)


def model(name: str) -> PixelPrediction:
    reader = target_model(name, ClipSettings(height=12, width=12, kept=4, frames=4))
    truth = Attribute("secret", "categorical", ("s0", "s1"), np.array([0, 1]))
    network = reader.network_for(np.zeros((2, 4, 3, 12, 12), np.uint8), truth)
    return PixelPrediction(network.eval())


def draw(folder: Path, config: SpactConfig = CONFIG, attacker: str = "resnet18:0.125") -> Path:
    models = {
        "secret": {"mobilenet-v1:0.25": model("mobilenet-v1:0.25"), attacker: model(attacker)}
    }
    draw_attention(folder, FRAMES, models, data=clips(), roles=ROLES, config=config, seed=0)
    return folder / FILE


def test_a_fit_gives_a_picture_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config: dict[str, Any] = CONFIG.model_dump()
    fit_bundle(
        clips(),
        ROLES,
        method="spact",
        config=config,
        key=key_of(0),
        journal=Journal(tmp_path / "fit"),
    )
    for module in (first_phases, spact_fit):
        monkeypatch.setattr(module, "take_step", None)  # a training would fail
    with Image.open(draw(tmp_path)) as sheet:
        assert sheet.height == 3 * 100 + 4  # the originals, one supervised model and the branch
        pixels = np.asarray(sheet.convert("RGB"))
    lines = [pixels[4 + 100 * i : 100 + 100 * i, -400:] for i in range(3)]
    assert not np.array_equal(lines[1], lines[2])
    with pytest.raises(TypeError):  # another fit has no checkpoints here
        draw(tmp_path, CONFIG.model_copy(update={"temperature": 0.2}))


@pytest.mark.parametrize(
    ("changes", "attacker"),
    [
        ({"branch_epochs": 0}, "resnet18:0.125"),
        ({"branch_model": "mobilenet-v1:0.1"}, "resnet18:0.125"),
        ({}, "inception-v1:0.25"),
    ],
)
def test_without_two_resnets_that_learned_there_is_no_picture(
    tmp_path: Path, changes: dict[str, Any], attacker: str
) -> None:
    (tmp_path / FILE).write_bytes(b"of an earlier run")
    assert not draw(tmp_path, CONFIG.model_copy(update=changes), attacker).exists()


def test_colours_go_from_blue_to_red() -> None:
    black = np.zeros((1, 1, 3, 3), np.uint8)
    [shown] = heated(black, torch.tensor([[[0.0, 0.5, 1.0]]]))
    assert shown[0].tolist() == [[0, 0, 128], [64, 128, 64], [128, 0, 0]]
    [bright] = heated(black + 255, torch.zeros(1, 1, 3))
    assert bright[0, 0].tolist() == [128, 128, 255]
