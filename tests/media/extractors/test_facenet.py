"""FaceNet with weights of a user's file."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import safetensors.torch
import torch

from contracts.extractor import ExtractorContract
from media.drawn_face import drawn_face
from withhold.core.errors import UserError
from withhold.learn.nets.inception_resnet import InceptionResnetV1
from withhold.media.extractors.facenet import FaceNet, FaceNetConfig
from withhold.records.samples import BadMedia, Picture, Sample


@pytest.fixture(autouse=True, scope="module")
def _weights(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Random ones, with the head that the published file has."""
    torch.manual_seed(0)
    state = InceptionResnetV1().state_dict()
    state["logits.weight"] = torch.zeros(10, 512)
    TestFaceNet.file = tmp_path_factory.mktemp("facenet") / "random.pt"
    torch.save(state, TestFaceNet.file)


class TestFaceNet(ExtractorContract):
    file: ClassVar[Path]

    @classmethod
    def make(cls) -> FaceNet:
        return FaceNet(FaceNetConfig(weights=str(cls.file)))

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        rng = np.random.default_rng(seed)
        return [
            Picture(rng.integers(0, 256, (20 + 9 * i, 50, 3), dtype=np.uint8)) for i in range(n)
        ]

    def test_features_have_length_1(self) -> None:
        np.testing.assert_allclose(np.linalg.norm(self.known()[1], axis=1), 1, atol=1e-5)

    def test_the_input_is_standardised_as_facenet_does(self) -> None:
        pixels = np.zeros((320, 200, 3), np.uint8)
        pixels[..., 0] = 255
        prepared = self.extractor().prepare(Picture(pixels))
        assert prepared.shape == (3, 160, 160)
        np.testing.assert_allclose(prepared[0], 127.5 / 128)
        np.testing.assert_allclose(prepared[1:], -127.5 / 128)

    def test_safetensors_without_a_head_give_the_same(self, tmp_path: Path) -> None:
        state = torch.load(self.file, weights_only=True)
        del state["logits.weight"]
        safetensors.torch.save_file(state, tmp_path / "w.safetensors")
        samples, x = self.known()
        other = FaceNet(FaceNetConfig(weights=str(tmp_path / "w.safetensors")))
        np.testing.assert_array_equal(self.features(samples, other), x)
        assert other.fingerprint != self.extractor().fingerprint

    def test_faces_can_be_found_first(self) -> None:
        finding = FaceNet(FaceNetConfig(weights=str(self.file), faces="found"))
        prepared = finding.prepare(Picture(drawn_face()))
        crop = Picture(np.ascontiguousarray(drawn_face()[46:205, 60:178]))
        np.testing.assert_array_equal(prepared, self.extractor().prepare(crop))
        with pytest.raises(BadMedia, match="no face found"):
            finding.prepare(Picture(np.zeros((90, 90, 3), np.uint8)))

    def test_weights_that_will_not_do(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="needs a file of weights"):
            FaceNet()
        with pytest.raises(UserError, match="no such file"):
            FaceNet(FaceNetConfig(weights=str(tmp_path / "absent.pt")))
        torch.save({"conv2d_1a.conv.weight": torch.zeros(32, 3, 3, 3)}, tmp_path / "part.pt")
        with pytest.raises(UserError, match="lacks"):
            FaceNet(FaceNetConfig(weights=str(tmp_path / "part.pt")))
