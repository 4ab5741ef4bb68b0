"""The models of `gap` and `replace` equal their modifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from support import key_of
from withhold.actions.export import onnx_inputs
from withhold.bundle.bundle import Bundle, describe
from withhold.bundle.onnx_export import form_of, onnx_bytes
from withhold.learn.training import initialise
from withhold.methods import read_config
from withhold.methods.images.replace.modifier import (
    GapModifier,
    ReplaceModifier,
    ReplaceSettings,
)
from withhold.methods.images.replace.new_classes import NewClasses
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.samples import Picture

SIDE = 16
CLASSES = NewClasses(names=("secret",), values=(("a",), ("b",), ("c",)), shares=(0.2, 0.3, 0.5))


def dataset(side: int = SIDE) -> Dataset:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, side, side, 3)).astype(np.uint8)
    pixels[1], pixels[2] = 0, 255
    return Dataset.from_arrays(pixels, {"secret": list("abcabc")})


def bundle(method: str, *, use_filter: bool = True) -> Bundle:
    """A bundle of networks with random weights and random batch norms: no training is needed."""
    config = read_config(method, {"side": SIDE, "width": 4, "depth": 2, "noise": 8})
    settings = ReplaceSettings.of(
        config,  # type: ignore[arg-type]
        use_filter=use_filter,
        classes=None if method == "gap" else CLASSES,
    )
    networks = settings.networks()
    initialise(networks, 0, "test")
    generator = torch.Generator().manual_seed(0)
    for name, tensor in networks.state_dict().items():
        if "running" in name:
            tensor.copy_(0.5 + torch.rand(tensor.shape, generator=generator))
    kind = GapModifier if method == "gap" else ReplaceModifier
    return describe(
        kind(networks, key_of(0), settings),
        dataset(),
        Roles.of("secret", ()),
        config,
        seed=0,
        history=[],
    )


def session(found: Bundle) -> Any:
    return onnxruntime.InferenceSession(onnx_bytes(found), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("method", "use_filter"), [("gap", True), ("replace", True), ("replace", False)]
)
@pytest.mark.parametrize("rows", [slice(None), slice(0, 1), slice(0, 0)])
def test_the_model_equals_the_networks(method: str, use_filter: bool, rows: slice) -> None:
    found = bundle(method, use_filter=use_filter)
    inputs = {k: v[rows] for k, v in onnx_inputs(found, dataset()).items()}
    released = session(found).run(["released"], inputs)[0]
    x = torch.from_numpy(inputs["image"])
    modifier: Any = found.modifier
    with torch.inference_mode():
        for name, network in modifier.networks.items() if len(x) else ():
            label = torch.from_numpy(inputs["new_class"]) if name == "generator" else None
            x = network(x, torch.from_numpy(inputs[f"noise_{name}"]), label)
    assert released.shape == x.shape
    np.testing.assert_allclose(released, x.numpy(), atol=1e-5)


@pytest.mark.parametrize("method", ["gap", "replace"])
def test_the_inputs_make_the_draws_of_transform(method: str) -> None:
    """Images of the networks' own size: the bytes are those of `transform`, to rounding."""
    found, data = bundle(method), dataset()
    released = session(found).run(["released"], onnx_inputs(found, data))[0]
    pixels = np.rint(255 * released).transpose(0, 2, 3, 1)
    items = data.media.items() if data.media is not None else ()
    made = found.modifier.transform([item.content for item in items])
    for one, other in zip(pixels, made, strict=True):
        assert isinstance(other, Picture)
        assert np.abs(one - other.pixels).max() <= 1


def test_images_of_another_size_are_brought_to_that_of_the_networks() -> None:
    found = bundle("replace")
    assert onnx_inputs(found, dataset(20))["image"].shape == (6, 3, SIDE, SIDE)


def test_an_invalid_class_or_number_gives_no_image() -> None:
    found = bundle("replace")
    inputs = dict(onnx_inputs(found, dataset()))
    inputs["new_class"] = np.array([-1, 0, 1, 2, 0, 0])
    inputs["noise_filter"][1, 0] = np.nan
    released = session(found).run(["released"], inputs)[0]
    assert np.isnan(released[:2]).all()
    assert np.isfinite(released[2:]).all()


def test_the_key_and_the_names_of_classes_are_not_in_the_file() -> None:
    found = bundle("replace")
    model = onnx_bytes(found)
    assert found.modifier.key not in model
    assert b"secret" not in model
    assert form_of(found.modifier).draws
