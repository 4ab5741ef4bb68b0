"""The network in torch gives dlib's descriptors, whatever the batch; no other file loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from withhold.core.errors import UserError
from withhold.learn.nets.dlib_resnet import DIMENSION, SIDE, DlibResnet, load_dlib_resnet
from withhold.media.weights import PackageFile

WEIGHTS = PackageFile(
    module="face_recognition_models",
    path="models/dlib_face_recognition_resnet_model_v1.dat",
    sha256="55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30",
    install="face_recognition_models==0.3.0",
    licence="public domain",
)


@pytest.fixture(scope="module")
def network() -> DlibResnet:
    return load_dlib_resnet(WEIGHTS.locate())


@pytest.fixture(scope="module")
def chips() -> npt.NDArray[np.uint8]:
    """Pictures of 150 x 150, (n, h, w, 3): smooth ones of several grains, noise, one all dark."""
    seed = torch.Generator().manual_seed(5)
    smooth = [
        functional.interpolate(
            256 * torch.rand(1, 3, grain, grain, generator=seed), size=SIDE, mode="bicubic"
        )
        for grain in (2, 4, 9, 20)
    ]
    noise = 256 * torch.rand(1, 3, SIDE, SIDE, generator=seed)
    pictures = torch.cat([*smooth, noise, torch.zeros_like(noise)]).clamp(0, 255)
    return np.ascontiguousarray(pictures.permute(0, 2, 3, 1).to(torch.uint8).numpy())


def pixels(chips: npt.NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(chips).permute(0, 3, 1, 2).float()


def test_descriptors_are_those_of_dlib(network: DlibResnet, chips: npt.NDArray[np.uint8]) -> None:
    import dlib

    reference = dlib.face_recognition_model_v1(str(WEIGHTS.locate()))
    expected = np.array([reference.compute_face_descriptor(chip) for chip in chips])
    with torch.inference_mode():
        found = network(pixels(chips)).numpy()
    assert found.shape == (len(chips), DIMENSION)
    assert np.abs(found - expected).max() <= 2e-5
    # The pictures are told apart by far more than the tolerance, or the comparison says nothing.
    assert np.ptp(expected, axis=0).max() > 0.1


def test_a_face_does_not_depend_on_its_batch_nor_on_the_layout_of_memory(
    network: DlibResnet, chips: npt.NDArray[np.uint8]
) -> None:
    batch = pixels(chips)
    with torch.inference_mode():
        together = network(batch)
        alone = torch.cat([network(one) for one in batch.split(1)])
        rows = network(batch.contiguous())
        turned = network(batch.flip(0)).flip(0)
    for other in (alone, rows, turned):
        torch.testing.assert_close(other, together, rtol=0, atol=1e-5)


def test_colours_are_taken_in_the_order_red_green_blue(
    network: DlibResnet, chips: npt.NDArray[np.uint8]
) -> None:
    batch = pixels(chips)
    with torch.inference_mode():
        assert (network(batch) - network(batch.flip(1))).abs().max() > 0.01


def test_the_network_is_frozen_and_folded_and_leaves_its_input_alone(
    network: DlibResnet, chips: npt.NDArray[np.uint8]
) -> None:
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())
    leaves = [m for m in network.modules() if not list(m.children())]
    assert {type(leaf) for leaf in leaves} == {nn.Conv2d, nn.Linear}
    batch = pixels(chips)
    before = batch.clone()
    with torch.inference_mode():
        network(batch)
    assert torch.equal(batch, before)


def test_no_other_file_loads(tmp_path: Path) -> None:
    data = WEIGHTS.locate().read_bytes()
    cut = tmp_path / "cut.dat"
    for length in (0, 1, 300, 5_000, len(data) // 2, len(data) - 1):
        cut.write_bytes(data[:length])
        with pytest.raises(UserError, match="no network of dlib"):
            load_dlib_resnet(cut)
    for other in ("mmod_human_face_detector.dat", "shape_predictor_5_face_landmarks.dat"):
        with pytest.raises(UserError, match="no network of dlib"):
            load_dlib_resnet(WEIGHTS.locate().with_name(other))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        # The stem's stride, written after its 4736 weights; and the last map's outputs.
        (b"\x01\x07\x01\x07\x01\x02\x01\x02", b"\x01\x07\x01\x07\x01\x02\x01\x03", "for con"),
        (b"\x04fc_2\x01\x80\x02\x00\x01", b"\x04fc_2\x01\x81\x02\x00\x01", "for fc"),
        (b"\x04fc_2\x01\x80\x02\x00\x01", b"\x04fc_2\x01\x80\x02\x01\x01", "for fc"),
        # A layer turned into a tag, which holds nothing.
        (b"\x01\x02\x01\x03\x01\x15input", b"\x01\x01\x01\x03\x01\x15input", "no network of dlib"),
        # Filters of another shape with as many weights.
        (
            b"\x01\x20\x01\x03\x01\x07\x01\x07\x01\x01",
            b"\x01\x20\x01\x07\x01\x03\x01\x07\x01\x01",
            "a weight is",
        ),
    ],
)
def test_another_network_of_dlib_is_refused(
    tmp_path: Path, old: bytes, new: bytes, why: str
) -> None:
    data = WEIGHTS.locate().read_bytes()
    assert data.count(old) == 1
    path = tmp_path / "other.dat"
    path.write_bytes(data.replace(old, new))
    with pytest.raises(UserError, match=why):
        load_dlib_resnet(path)
