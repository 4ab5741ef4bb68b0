"""Loading of networks: nothing runs, nothing is made up, every failure is one line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from withhold.core.errors import UserError
from withhold.media.extractors.hub import load_pretrained, load_processor_settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    transformers.utils.logging.disable_progress_bar()
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        image_size=8, patch_size=4,
    )  # fmt: skip
    transformers.ViTModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
    transformers.utils.logging.enable_progress_bar()
    return tmp_path


def load(weights: str | Path | None, default: str | None = None) -> tuple[torch.nn.Module, str]:
    named = None if weights is None else str(weights)
    return load_pretrained(named, default=default, download=False, extractor="image-model")


def configure(folder: Path, **settings: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def test_a_folder_is_loaded_in_silence_and_the_same_each_time(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    network, fingerprint = load(folder)
    assert not network.training
    assert all(not p.requires_grad and p.dtype == torch.float32 for p in network.parameters())
    assert network.pooler is None  # the checkpoint has none, so none is made up
    assert load(folder)[1] == fingerprint
    assert capfd.readouterr() == ("", "")
    assert transformers.utils.logging.is_progress_bar_enabled()


def test_a_torch_file_has_the_fingerprint_of_the_same_weights(folder: Path) -> None:
    network, fingerprint = load(folder)
    (folder / "model.safetensors").unlink()
    torch.save(network.state_dict(), folder / "pytorch_model.bin")
    assert load(folder)[1] == fingerprint


def test_half_precision_is_loaded_as_float32(folder: Path) -> None:
    network, _ = load(folder)
    network.half().save_pretrained(folder)
    assert next(load(folder)[0].parameters()).dtype == torch.float32


def test_code_in_a_checkpoint_is_not_run(folder: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(folder / "was-run"),)

    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="without running code"):
        load(folder)
    assert not (folder / "was-run").exists()


def test_a_checkpoint_of_another_network_is_refused(folder: Path) -> None:
    configure(folder, num_hidden_layers=2)
    with pytest.raises(UserError, match=r"lack '.*1\."):
        load(folder)
    configure(folder, num_hidden_layers=1, hidden_size=16)
    with pytest.raises(UserError, match=r"is \(.*8.*\), not \(.*16.*\)"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [("model.safetensors", b"abc"), ("config.json", b"{"), ("config.json", b"{}")],
)
def test_a_broken_folder_is_one_line(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match="cannot be loaded") as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weights", ["/no/such/folder", "./none", "a/b/c", "two words"])
def test_what_is_neither_a_folder_nor_a_name_on_the_hub(weights: str) -> None:
    with pytest.raises(UserError, match="no such folder"):
        load(weights)


def test_weights_that_are_not_here_are_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"owner/network.*--download.*--weights"):
        load(None, default="owner/network")
    assert load_processor_settings("owner/network", download=False) == {}


def test_settings_of_the_processor(folder: Path) -> None:
    assert load_processor_settings(str(folder), download=False) == {}
    path = folder / "preprocessor_config.json"
    path.write_text('{"image_mean": [0.5, 0.5, 0.5]}')
    assert load_processor_settings(str(folder), download=False) == {"image_mean": [0.5, 0.5, 0.5]}
    path.unlink()
    inner = {"image_processor": {"image_std": [1, 1, 1]}, "processor_class": "X"}
    (folder / "processor_config.json").write_text(json.dumps(inner))
    assert load_processor_settings(str(folder), download=False)["image_std"] == [1, 1, 1]
    path.write_text("[1]")
    with pytest.raises(UserError, match="no settings"):
        load_processor_settings(str(folder), download=False)
    path.write_text("{")
    with pytest.raises(UserError, match="cannot be loaded"):
        load_processor_settings(str(folder), download=False)
