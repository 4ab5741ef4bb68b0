"""Networks for pictures, small and random, saved to a folder and loaded again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
import transformers

from contracts.extractor import ExtractorContract
from withhold.core.errors import UserError
from withhold.media.extractors.extractor import FloatArray
from withhold.media.extractors.image_model import ImageModel, ImageModelConfig
from withhold.records.samples import Picture, Sample

TOKENS = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "image_size": 32,
    "patch_size": 8,
}
# Random weights of the usual size make much the same of every picture.
WIDE = {**TOKENS, "initializer_range": 0.5}


@cache
def network(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "vit":
        return transformers.ViTModel(transformers.ViTConfig(**WIDE)).eval()
    if kind == "dinov2":
        return transformers.Dinov2Model(transformers.Dinov2Config(**WIDE)).eval()
    if kind == "registers":
        settings = transformers.Dinov2WithRegistersConfig(**WIDE, num_register_tokens=3)
        return transformers.Dinov2WithRegistersModel(settings).eval()
    if kind == "clip":
        text = {**TOKENS, "vocab_size": 50, "eos_token_id": 2, "bos_token_id": 1}
        del text["image_size"], text["patch_size"]
        vision = {**TOKENS, "initializer_factor": 5.0}
        settings = transformers.CLIPConfig(text_config=text, vision_config=vision)
        return transformers.CLIPModel(settings).eval()
    settings = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"
    )
    return transformers.ResNetModel(settings).eval()


FOLDERS: dict[str, Path] = {}


@pytest.fixture(autouse=True, scope="module")
def _folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    for kind in ("vit", "dinov2", "registers", "clip", "resnet"):
        FOLDERS[kind] = tmp_path_factory.mktemp(kind)
        network(kind).save_pretrained(FOLDERS[kind])
    settings = {"size": {"shortest_edge": 36}, "crop_size": 32, "do_normalize": False}
    (FOLDERS["clip"] / "preprocessor_config.json").write_text(json.dumps(settings))


def made(kind: str, **settings: Any) -> ImageModel:
    return ImageModel(ImageModelConfig(weights=str(FOLDERS[kind]), **settings))


class _OfKind(ExtractorContract):
    network_kind: ClassVar[str]

    @classmethod
    def make(cls) -> ImageModel:
        return made(cls.network_kind)

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        rng = np.random.default_rng(seed)
        small = [rng.integers(0, 256, (4, 5 + i, 3), dtype=np.uint8) for i in range(n)]
        return [Picture(p.repeat(9, axis=0).repeat(9, axis=1)) for p in small]


class TestViT(_OfKind):
    network_kind = "vit"


class TestDinov2(_OfKind):
    network_kind = "dinov2"


class TestClip(_OfKind):
    network_kind = "clip"


class TestResNet(_OfKind):
    network_kind = "resnet"


def both(kind: str, **settings: Any) -> tuple[FloatArray, Any]:
    """Features of two pictures, and what the network itself says of them."""
    extractor = made(kind, **settings)
    prepared = [extractor.prepare(sample) for sample in TestViT.samples(2, 0)]
    model = network(kind)
    model = model.vision_model if kind == "clip" else model
    with torch.inference_mode():
        out = model(pixel_values=torch.from_numpy(np.stack(prepared)), output_hidden_states=True)
    return extractor.forward(prepared), out


def same(x: FloatArray, want: torch.Tensor) -> None:
    np.testing.assert_allclose(x, want.numpy(), atol=1e-5, rtol=1e-5)


def test_the_way_of_each_network() -> None:
    x, out = both("vit")
    same(x, out.last_hidden_state[:, 0])  # not its dense pooler, which is seldom trained
    x, out = both("dinov2")
    same(x, out.pooler_output)
    x, out = both("clip")
    same(x, out.pooler_output)  # normalised, unlike the class token
    assert not np.allclose(x, out.last_hidden_state[:, 0].numpy(), atol=1e-3)
    x, out = both("resnet")
    same(x, out.last_hidden_state.mean(dim=(2, 3)))


def test_class_token_and_mean_over_the_patches() -> None:
    x, out = both("dinov2", pool="cls")
    same(x, out.last_hidden_state[:, 0])
    x, out = both("dinov2", pool="mean")
    same(x, out.last_hidden_state[:, 1:].mean(dim=1))
    x, out = both("registers", pool="mean")
    same(x, out.last_hidden_state[:, 4:].mean(dim=1))


def test_an_earlier_layer() -> None:
    for layer in (0, 2, -2):
        x, out = both("vit", layer=layer)
        same(x, out.hidden_states[layer][:, 0])
        x, out = both("clip", layer=layer, pool="mean")
        same(x, out.hidden_states[layer][:, 1:].mean(dim=1))
    x, out = both("resnet", layer=1)
    same(x, out.hidden_states[1].mean(dim=(2, 3)))
    assert made("resnet", layer=1).dimension == 8


def test_pictures_are_made_as_the_folder_says() -> None:
    white = Picture(np.full((50, 90, 3), 255, np.uint8))
    assert made("clip").prepare(white).shape == (3, 32, 32)
    assert made("clip").prepare(white).max() == 1
    assert made("vit").prepare(white).shape == (3, 32, 32)
    assert made("resnet").prepare(white).shape == (3, 224, 224)


def test_what_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="needs weights"):
        ImageModel()
    with pytest.raises(UserError, match="not on this machine"):
        ImageModel(ImageModelConfig(weights="nobody/no-such-model"))
    with pytest.raises(UserError, match="layers 0 to 3"):
        made("vit", layer=9)
    with pytest.raises(UserError, match="no class token"):
        made("resnet", pool="cls")
    sizes = {k: v for k, v in TOKENS.items() if k not in ("image_size", "patch_size")}
    text = transformers.BertModel(transformers.BertConfig(**sizes, vocab_size=50))
    text.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="no network for pictures"):
        ImageModel(ImageModelConfig(weights=str(tmp_path)))


def test_other_weights_have_another_fingerprint() -> None:
    assert len({made(kind).fingerprint for kind in FOLDERS}) == len(FOLDERS)
