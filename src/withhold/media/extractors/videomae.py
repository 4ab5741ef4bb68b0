"""`videomae`: clips to the mean token of a VideoMAE encoder, unit length (Tong et al., 2022).

x = n(mean over tokens of h), h: (tokens, hidden) the last layer's output for 16 frames in tubes of
two. Frames are resized to the size in the network's config, less the mean and over the deviation
of its preprocessor settings (ImageNet's where there are none).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.media.extractors.extractor import Extractor, Prepared, WeightsConfig, unit
from withhold.media.extractors.hub import load_pretrained, load_processor_settings
from withhold.media.frames import frames_of, resize_frames
from withhold.records.samples import FloatArray, Sample

_DEFAULT = "MCG-NJU/videomae-base"
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


class VideoMae(Extractor):
    """A video transformer of the transformers library, from a folder or the hub."""

    name = "videomae"
    kind = "clip"
    takes = "16 frames, every other, resized to what the network was trained at (224x224)"
    source = f"a folder, or a name on the hub ({_DEFAULT} unless another is named)"
    licence = f"of the weights; {_DEFAULT} is CC BY-NC 4.0"
    config_type = WeightsConfig
    batch = 4

    def __init__(self, config: WeightsConfig | None = None) -> None:
        super().__init__(config)
        given = config or WeightsConfig()
        network: Any  # torch knows nothing of its config
        network, self._fingerprint = load_pretrained(
            given.weights,
            default=_DEFAULT,
            download=given.download,
            extractor=self.name,
            model_class="VideoMAEModel",
        )
        self._network = network
        self._count = int(network.config.num_frames)
        self._side = _side(network.config.image_size)
        found = load_processor_settings(given.weights or _DEFAULT, download=given.download)
        self._mean = _three(found, "image_mean", _MEAN)
        self._deviation = _three(found, "image_std", _DEVIATION)

    @property
    def dimension(self) -> int:
        """Length of a feature vector."""
        return int(self._network.config.hidden_size)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights."""
        return self._fingerprint

    def prepare(self, sample: Sample) -> Prepared:
        """Frames (t, 3, h, w), standardised."""
        frames = resize_frames(frames_of(sample, self._count, self.step), *self._side)
        return np.ascontiguousarray(((frames - self._mean) / self._deviation).transpose(0, 3, 1, 2))

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Unit vectors (b, hidden)."""
        with torch.inference_mode():
            out = self._network(pixel_values=torch.from_numpy(np.stack(prepared)))
            return unit(out.last_hidden_state.mean(dim=1).numpy())


def _side(size: Any) -> tuple[int, int]:
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return int(height), int(width)


def _three(settings: dict[str, Any], name: str, default: tuple[float, ...]) -> FloatArray:
    """Three numbers of the preprocessor's settings."""
    found = np.asarray(settings.get(name, default), np.float32)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise UserError(f"videomae: '{name}' in preprocessor_config.json must be three numbers")
    return found
