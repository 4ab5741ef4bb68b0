"""FaceNet (Schroff et al., 2015) as MaSS uses it for faces: x = f((pixel - 127.5) / 128), |x| = 1.

The picture is resized to 160 x 160 and the network is Inception-ResNet v1. The user supplies the
weights: facenet-pytorch publishes those trained on VGGFace2 and on CASIA-WebFace as torch files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from pydantic import Field

from withhold.core.errors import UserError
from withhold.learn.nets.inception_resnet import InceptionResnetV1
from withhold.media.decode.pictures import resized
from withhold.media.extractors.extractor import Extractor, ExtractorConfig, FloatArray, Prepared
from withhold.media.face_detector import FaceDetector
from withhold.media.weights import file_hash, load_into
from withhold.records.samples import BadMedia, ByteArray, Picture, Sample

_SIDE = 160


class FaceNetConfig(ExtractorConfig):
    """Which weights, and where the face is."""

    weights: str | None = Field(None, description="a torch or safetensors file")
    faces: Literal["whole", "found"] = Field(
        "whole", description="the whole picture is the face, or it is found in it with MTCNN"
    )


class FaceNet(Extractor):
    """Embeddings of faces, 512-d, of length 1."""

    name = "facenet"
    kind = "image"
    takes = "a picture of a face, cropped to it (or found with faces=found), made 160 x 160"
    source = "a file of yours, such as 20180402-114759-vggface2.pt of facenet-pytorch"
    licence = "that of your file (facenet-pytorch: MIT)"
    config_type = FaceNetConfig
    config: FaceNetConfig
    batch = 16
    dimension = 512

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        if self.config.weights is None:
            raise UserError(
                "facenet needs a file of weights: download 20180402-114759-vggface2.pt from the"
                " releases of facenet-pytorch and name it with --weights"
            )
        self._network = InceptionResnetV1().eval().requires_grad_(False)
        load_into(self._network, self.config.weights, ignore=("logits.",))
        self.fingerprint = file_hash(Path(self.config.weights))
        self._detector = FaceDetector() if self.config.faces == "found" else None

    def prepare(self, sample: Sample) -> Prepared:
        """The face, (3, 160, 160), about -1 to 1."""
        assert isinstance(sample, Picture)
        pixels = sample.pixels if self._detector is None else _face(sample.pixels, self._detector)
        small = resized(pixels, _SIDE, _SIDE).transpose(2, 0, 1)
        return (small.astype(np.float32) - np.float32(127.5)) / np.float32(128)

    @torch.inference_mode()
    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Raw features of a batch, (b, 512)."""
        x: FloatArray = self._network(torch.from_numpy(np.stack(prepared))).numpy()
        return x


def _face(pixels: ByteArray, detector: FaceDetector) -> ByteArray:
    """The part of the picture in the most probable box."""
    found = detector.boxes(pixels)
    if len(found) == 0:
        raise BadMedia("no face found")
    left, top = (int(v) for v in found[0, :2])
    right, bottom = (int(np.ceil(v)) for v in found[0, 2:4])
    return pixels[top:bottom, left:right]
