"""`videomae`: clips to the mean token of a VideoMAE encoder, unit length (Tong et al., 2022).

x = n(mean over tokens of h), h: (tokens, hidden) the last layer's output for 16 frames in tubes of
two. Frames are resized to the size in the network's config and standardised with the mean and the
deviation of its preprocessor settings (ImageNet's if there are none).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.media.extractors.extractor import ExtractorConfig, Prepared, unit
from withhold.media.extractors.hub import HubExtractor
from withhold.media.extractors.image_input import IMAGENET_DEVIATION, IMAGENET_MEAN, image_side
from withhold.media.frames import frames_of, resize_frames
from withhold.records.samples import FloatArray, Sample

_DEFAULT = "MCG-NJU/videomae-base"


class VideoMae(HubExtractor):
    """A video transformer of the transformers library, from a folder or the hub."""

    name = "videomae"
    kind = "clip"
    takes = "16 frames, every other, resized to what the network was trained at (224x224)"
    source = f"a folder, or a name on the hub ({_DEFAULT} unless another is named)"
    licence = f"of the weights; {_DEFAULT} is CC BY-NC 4.0"
    batch = 4
    default = _DEFAULT
    model_class = "VideoMAEModel"

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        self._count = int(self._network.config.num_frames)
        self._side = image_side(self._network.config)
        found = self._processor_settings()
        self._mean = _three(found, "image_mean", IMAGENET_MEAN)
        self._deviation = _three(found, "image_std", IMAGENET_DEVIATION)

    def prepare(self, sample: Sample) -> Prepared:
        """Frames (t, 3, h, w), standardised."""
        frames = resize_frames(frames_of(sample, self._count, self.step), *self._side)
        return np.ascontiguousarray(((frames - self._mean) / self._deviation).transpose(0, 3, 1, 2))

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Unit vectors (b, hidden)."""
        with torch.inference_mode():
            clips = torch.from_numpy(np.stack(prepared)).to(self._network.device)
            out = self._network(pixel_values=clips)
            return unit(out.last_hidden_state.mean(dim=1).cpu().numpy())


def _three(settings: dict[str, Any], name: str, default: tuple[float, ...]) -> FloatArray:
    """Three numbers of the preprocessor's settings."""
    found = np.asarray(settings.get(name, default), np.float32)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise UserError(f"videomae: '{name}' in preprocessor_config.json must be three numbers")
    return found
