"""`r3d18`: clips to 512-d vectors of unit length, with MaSS's preprocessing (section 4.1).

16 frames, every other, resized to 112x112, less the mean of Kinetics and divided by its deviation;
the mean over time and place of the last stage; L2.

With random weights all clips get nearly the same vector (cosines of 0.998 and more: the
differences are small beside what all pictures share), so these vectors are standardised with the
training part before L2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from pydantic import Field

from withhold.core.errors import UserError
from withhold.learn.nets.r3d18_net import FEATURES, R3D18Net, empty_r3d18, random_r3d18
from withhold.media.extractors.extractor import (
    Prepared,
    StandardisedExtractor,
    WeightsConfig,
    unit,
)
from withhold.media.extractors.hub import tensors_hash
from withhold.media.frames import frames_of, resize_frames
from withhold.media.weights import file_hash, load_into
from withhold.records.samples import FloatArray, Sample

_MEAN = np.array([0.43216, 0.394666, 0.37645], np.float32)
_DEVIATION = np.array([0.22803, 0.22145, 0.216989], np.float32)


class R3D18Config(WeightsConfig):
    """A file of weights, or an explicit request for random ones."""

    random: bool = Field(False, description="random weights instead of trained ones")
    seed: int = Field(0, ge=0, description="of the random weights")


class R3D18(StandardisedExtractor):
    """A 3-d residual network; trained weights are the user's, random ones only on request."""

    name = "r3d18"
    kind = "clip"
    takes = "16 frames, every other, resized to 112x112"
    source = "a file: torchvision's r3d_18 (Kinetics-400) or the user's own; or random, if asked"
    licence = "of the file; torchvision's is BSD-3-Clause"
    config_type = R3D18Config
    config: R3D18Config
    batch = 8
    dimension = FEATURES
    side: ClassVar[int] = 112

    def __init__(self, config: R3D18Config | None = None) -> None:
        super().__init__(config)
        self._network, self.fingerprint = _network(self.config)

    def prepare(self, sample: Sample) -> Prepared:
        """Frames (3, 16, 112, 112), standardised."""
        frames = resize_frames(frames_of(sample, self.frames, self.step), self.side, self.side)
        return np.ascontiguousarray(((frames - _MEAN) / _DEVIATION).transpose(3, 0, 1, 2))

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Unit vectors (b, 512), as the network gives them."""
        # One clip keeps all cores busy, and alone it gets the same features in any batch.
        with torch.inference_mode():
            found = [self._network(torch.from_numpy(clip[None])).numpy() for clip in prepared]
        return unit(np.concatenate(found))

    @property
    def lacks_statistics(self) -> bool:
        """With random weights, until mean and deviation of the training part are known."""
        return self.config.random and super().lacks_statistics

    def least_deviation(self, deviation: FloatArray) -> float:
        """A tenth of the median deviation."""
        return max(0.1 * float(np.median(deviation)), 1e-6)

    def with_statistics(self, mean: FloatArray, deviation: FloatArray) -> Self:
        """The same extractor, given mean and deviation (512,) of training clips."""
        if not self.config.random:
            raise TypeError("r3d18 with trained weights needs no statistics")
        return super().with_statistics(mean, deviation)

    def finish(self, raw: FloatArray) -> FloatArray:
        """Unit vectors, standardised first where the weights are random."""
        return super().finish(raw) if self.config.random else raw


def _network(config: R3D18Config) -> tuple[R3D18Net, str]:
    if config.random:
        if config.weights is not None:
            raise UserError("r3d18 is asked for random weights and for a file of them; give one")
        network = random_r3d18(config.seed)
        fingerprint = tensors_hash(network.state_dict())
    elif config.weights is not None:
        network = empty_r3d18()
        load_into(network, config.weights, ignore=("fc.",))
        fingerprint = file_hash(Path(config.weights))
    else:
        raise UserError(
            "r3d18 needs weights: name a file of torchvision's r3d_18 with --weights, or say"
            " random=true to go without training"
        )
    return network.eval().requires_grad_(False), fingerprint
