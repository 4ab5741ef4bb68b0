"""hubert: a small random network, saved and loaded as a real one is."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from contracts.extractor import ExtractorContract
from withhold.core.errors import UserError
from withhold.media.extractors.hubert import HubertBase, HubertConfig, HubertLarge
from withhold.records.samples import Sample, Sound


def saved(folder: Path, settings: dict[str, Any] | None = None) -> str:
    """A folder with a network of 3 layers, 24 wide."""
    torch.manual_seed(0)
    network = transformers.HubertModel(
        transformers.HubertConfig(
            hidden_size=24,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=32,
            conv_dim=[8] * 7,
            num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=4,
        )
    )
    transformers.utils.logging.disable_progress_bar()
    network.save_pretrained(folder)
    if settings is not None:
        (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return str(folder)


@cache
def shared() -> str:
    return saved(Path(mkdtemp()))


def noise(samples: int, seed: int, rate: int = 16_000) -> Sound:
    rng = np.random.default_rng(seed)
    return Sound(rng.normal(scale=0.1, size=samples).astype(np.float32), rate)


class TestContract(ExtractorContract):
    @classmethod
    def make(cls) -> HubertLarge:
        return HubertLarge(HubertConfig(weights=shared()))

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        lengths, rates = (30_000, 9_000, 50_000), (16_000, 8_000)
        return [noise(lengths[i % 3], 100 * seed + i, rates[i % 2]) for i in range(n)]


def base(**settings: Any) -> HubertBase:
    return HubertBase(HubertConfig(**{"weights": shared(), **settings}))


def features(extractor: HubertBase, sound: Sound) -> np.ndarray:
    return extractor.forward([extractor.prepare(sound)])[0]


def test_the_default_is_30000_samples_cut_or_padded() -> None:
    extractor = base()
    long, short = noise(40_000, 1), noise(20_000, 2)
    np.testing.assert_array_equal(extractor.prepare(long), long.samples[:30_000])
    padded = extractor.prepare(short)
    assert padded.shape == (30_000,)
    np.testing.assert_array_equal(padded[:20_000], short.samples)
    assert not padded[20_000:].any()
    assert base(samples=500).prepare(long).shape == (500,)


def test_samples_are_counted_at_16_khz() -> None:
    prepared = base().prepare(noise(10_000, 1, 8_000))
    assert prepared[:19_990].any()
    assert not prepared[20_001:].any()


@pytest.mark.parametrize("layer", [None, 0, 1, 3])
def test_features_are_the_mean_over_time_of_the_layer(layer: int | None) -> None:
    network = transformers.HubertModel.from_pretrained(shared()).eval()
    sound = noise(30_000, 3)
    with torch.inference_mode():
        out = network(torch.from_numpy(sound.samples)[None], output_hidden_states=True)
    hidden = out.last_hidden_state if layer is None else out.hidden_states[layer]
    assert hidden.shape == (1, 93, 24)
    mean = hidden[0].numpy().mean(axis=0)
    found = features(base(layer=layer), sound)
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-6)


def test_layers_differ_and_the_last_is_the_default() -> None:
    sound = noise(30_000, 4)
    each = [features(base(layer=i), sound) for i in range(4)]
    for i in range(3):
        assert np.abs(each[i] - each[i + 1]).max() > 1e-3
    np.testing.assert_allclose(features(base(), sound), each[3], atol=1e-6)


def test_a_layer_it_does_not_have() -> None:
    with pytest.raises(UserError, match="no layer 4: its layers are 0 to 3"):
        _ = base(layer=4).dimension


def test_the_checkpoint_says_whether_input_is_standardised(tmp_path: Path) -> None:
    sound = Sound(3 * noise(30_000, 5).samples + 0.5, 16_000)
    yes = saved(tmp_path / "yes", {"do_normalize": True})
    no = saved(tmp_path / "no", {"do_normalize": False})
    for kind in (HubertBase, HubertLarge):
        prepared = kind(HubertConfig(weights=yes)).prepare(sound)
        assert prepared.dtype == np.float32
        assert prepared.mean() == pytest.approx(0, abs=1e-5)
        assert prepared.std() == pytest.approx(1, abs=1e-4)
        np.testing.assert_array_equal(kind(HubertConfig(weights=no)).prepare(sound), sound.samples)


def test_without_word_from_the_checkpoint_the_large_one_is_standardised() -> None:
    sound = noise(30_000, 6)
    assert HubertLarge(HubertConfig(weights=shared())).prepare(sound).std() > 0.9
    assert base().prepare(sound).std() < 0.2


def test_silence_has_features_too() -> None:
    extractor = HubertLarge(HubertConfig(weights=shared()))
    assert np.isfinite(features(extractor, Sound(np.zeros(100, np.float32), 16_000))).all()


def test_other_weights_have_another_fingerprint(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    assert base(weights=folder).fingerprint == base().fingerprint
    network = transformers.HubertModel.from_pretrained(folder)
    with torch.no_grad():
        network.encoder.layer_norm.bias[0] += 1e-3
    network.save_pretrained(folder)
    assert base(weights=folder).fingerprint != base().fingerprint


@pytest.mark.parametrize("kind", [HubertBase, HubertLarge])
def test_nothing_is_downloaded_unless_asked(
    kind: type[HubertBase], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="--download") as caught:
        _ = kind().dimension
    assert kind.default in str(caught.value)
    assert "--weights" in str(caught.value)
    assert "\n" not in str(caught.value)
