"""r3d18: the contract (on small frames, for speed), loading weights, and refusing to guess them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from contracts.extractor import ExtractorContract
from withhold.core.errors import UserError
from withhold.learn.nets.r3d18_net import R3D18Net, random_r3d18
from withhold.media.extractors.extractor import Extractor
from withhold.media.extractors.r3d18_features import R3D18, R3D18Config
from withhold.media.weights import file_hash
from withhold.records.samples import Clip, Sample


class Small(R3D18):
    side = 16


@cache
def untrained(seed: int = 0) -> Small:
    return Small(R3D18Config(random=True, seed=seed))


@cache
def published() -> R3D18Net:
    """As torchvision publishes it: with the head of 400 classes, which no feature needs."""
    return random_r3d18(3, classes=400).eval()


def clips(n: int, seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [Clip(rng.integers(0, 256, (16 + i, 20 + i, 24, 3), np.uint8)) for i in range(n)]


class TestR3D18(ExtractorContract):
    tolerance = 1e-7  # a clip is computed alone

    @classmethod
    def make(cls) -> Extractor:
        extractor = Small(R3D18Config(random=True))
        raw = extractor.forward([extractor.prepare(clip) for clip in clips(4, 9)])
        return extractor.with_statistics(raw.mean(axis=0), raw.std(axis=0))

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        return clips(n, seed)


def test_the_network_is_given_what_the_paper_says() -> None:
    extractor = R3D18(R3D18Config(random=True))
    frames = np.empty((40, 56, 80, 3), np.uint8)
    frames[...] = np.arange(40)[:, None, None, None]
    frames[..., 1] = 255
    x = extractor.prepare(Clip(frames))
    assert x.shape == (3, 16, 112, 112)
    assert x.dtype == np.float32
    # Every other frame from the middle of 40: frames 4, 6, …, 34, less Kinetics' mean.
    red = (np.arange(4, 36, 2) / 255 - 0.43216) / 0.22803
    np.testing.assert_allclose(x[0], np.broadcast_to(red[:, None, None], (16, 112, 112)), atol=1e-5)
    np.testing.assert_allclose(x[1], (1 - 0.394666) / 0.22145, atol=1e-5)
    features = extractor.forward([x])
    assert features.shape == (1, extractor.dimension) == (1, 512)
    assert np.linalg.norm(features) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_a_file_of_weights_is_loaded(suffix: str, tmp_path: Path) -> None:
    state = published().state_dict()
    path = tmp_path / f"weights{suffix}"
    if suffix == ".pth":
        torch.save(state, path)
    else:
        safetensors.torch.save_file(state, path)
    extractor = Small(R3D18Config(weights=str(path)))
    assert extractor.fingerprint == file_hash(path)
    inputs = [extractor.prepare(clip) for clip in clips(2, 0)]
    network = published()
    with torch.inference_mode():
        x = network.stem(torch.from_numpy(np.stack(inputs)))
        x = network.layer4(network.layer3(network.layer2(network.layer1(x))))
        expected = x.mean(dim=(2, 3, 4)).numpy()
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert not extractor.lacks_statistics
    found = extractor.finish(extractor.forward(inputs))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    state = extractor.state()
    assert R3D18.from_state(state).state() == state
    with pytest.raises(TypeError, match="needs no statistics"):
        extractor.with_statistics(expected[0], expected[0])


def test_a_file_of_another_network_is_refused(tmp_path: Path) -> None:
    state = published().state_dict()
    del state["layer3.1.conv2.0.weight"]
    path = tmp_path / "weights.safetensors"
    safetensors.torch.save_file(state, path)
    with pytest.raises(UserError, match=r"lacks 'layer3.1.conv2.0.weight'"):
        R3D18(R3D18Config(weights=str(path)))


def test_random_weights_must_be_asked_for() -> None:
    with pytest.raises(UserError, match=r"--weights, or say random=true"):
        R3D18()
    with pytest.raises(UserError, match="give one"):
        R3D18(R3D18Config(weights="x.pth", random=True))


def test_random_features_are_standardised_with_the_training_part() -> None:
    extractor = untrained()
    raw = extractor.forward([extractor.prepare(clip) for clip in clips(6, 0)])
    assert extractor.lacks_statistics
    with pytest.raises(RuntimeError, match="no statistics"):
        extractor.finish(raw)
    assert (raw @ raw.T).min() > 0.9
    ready = extractor.with_statistics(raw.mean(axis=0), raw.std(axis=0))
    assert not ready.lacks_statistics
    assert extractor.lacks_statistics
    x = ready.finish(raw)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, atol=1e-5)
    assert (x @ x.T)[~np.eye(6, dtype=bool)].mean() < 0


def test_seeds_give_other_networks() -> None:
    one, two = untrained(0), untrained(1)
    assert one.fingerprint != two.fingerprint
    (clip,) = clips(1, 0)
    assert np.abs(one.forward([one.prepare(clip)]) - two.forward([two.prepare(clip)])).max() > 0.01
