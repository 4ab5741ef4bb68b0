"""videomae: the contract on a small random network that was saved to a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from contracts.extractor import ExtractorContract
from withhold.core.errors import UserError
from withhold.media.extractors.extractor import Extractor, WeightsConfig
from withhold.media.extractors.videomae import VideoMae
from withhold.records.samples import BadMedia, Clip, Sample

transformers = pytest.importorskip("transformers")


def saved(folder: Path, **settings: Any) -> Path:
    """A checkpoint of a network with random weights."""
    config = transformers.VideoMAEConfig(
        image_size=32, patch_size=8, num_frames=8, tubelet_size=2, hidden_size=24,
        num_hidden_layers=2, num_attention_heads=3, intermediate_size=48, **settings,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.VideoMAEModel(config).save_pretrained(folder)
    return folder


def clips(n: int, seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [Clip(rng.integers(0, 256, (16 + i, 20 + i, 24, 3), np.uint8)) for i in range(n)]


class TestVideoMae(ExtractorContract):
    folder: Path

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _saved(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        TestVideoMae.folder = saved(tmp_path_factory.mktemp("videomae"))

    @classmethod
    def make(cls) -> Extractor:
        return VideoMae(WeightsConfig(weights=str(cls.folder)))

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        return clips(n, seed)


def test_features_are_the_mean_token_of_the_network(tmp_path: Path) -> None:
    extractor = VideoMae(WeightsConfig(weights=str(saved(tmp_path))))
    assert extractor.dimension == 24
    inputs = [extractor.prepare(clip) for clip in clips(3, 0)]
    assert inputs[0].shape == (8, 3, 32, 32)
    network = transformers.VideoMAEModel.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        tokens = network(torch.from_numpy(np.stack(inputs))).last_hidden_state
    assert tokens.shape == (3, 4 * 4 * 4, 24)
    mean = tokens.mean(dim=1).numpy()
    expected = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(extractor.forward(inputs), expected, atol=1e-6)


def test_frames_are_standardised_as_the_folder_says(tmp_path: Path) -> None:
    frames = np.full((16, 10, 10, 3), 255, np.uint8)
    folder = saved(tmp_path)
    extractor = VideoMae(WeightsConfig(weights=str(folder)))
    imagenet = [(1 - 0.485) / 0.229, (1 - 0.456) / 0.224, (1 - 0.406) / 0.225]
    x = extractor.prepare(Clip(frames))
    np.testing.assert_allclose(x[0, :, 0, 0], imagenet, atol=1e-5)
    settings = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.5, 1]}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    x = VideoMae(WeightsConfig(weights=str(folder))).prepare(Clip(frames))
    np.testing.assert_allclose(x[0, :, 0, 0], [2, 1, 0.5], atol=1e-6)
    (folder / "preprocessor_config.json").write_text(json.dumps({"image_mean": [0.5]}))
    with pytest.raises(UserError, match=r"'image_mean' in preprocessor_config\.json"):
        VideoMae(WeightsConfig(weights=str(folder)))


def test_too_few_frames_and_absent_weights_are_refused(tmp_path: Path) -> None:
    extractor = VideoMae(WeightsConfig(weights=str(saved(tmp_path / "there"))))
    with pytest.raises(BadMedia, match="7 frames, 8 are needed"):
        extractor.prepare(Clip(np.zeros((7, 8, 8, 3), np.uint8)))
    with pytest.raises(UserError, match="no such folder"):
        VideoMae(WeightsConfig(weights=str(tmp_path / "not there")))
    with pytest.raises(UserError, match="--download"):
        VideoMae(WeightsConfig(weights="nobody/nothing-of-this-name"))
