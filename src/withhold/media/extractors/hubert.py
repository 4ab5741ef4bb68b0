"""`hubert-base`, `hubert-large`: sound to features as MaSS takes them.

    x = n(mean over t of h_t),  h: (t, d) a hidden layer of HuBERT, the last unless named

The sound is brought to 16 kHz and cut or zero-padded to 30,000 samples, the zeros being part of
what the network sees and of the mean; d is 768 (base) or 1024 (large). Where the checkpoint was
trained on input of zero mean and unit variance, the 30,000 samples are standardised together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field

from withhold.core.errors import UserError
from withhold.learn.nets.device import pick_device
from withhold.media.decode.sounds import resampled
from withhold.media.extractors.extractor import (
    FloatArray,
    Prepared,
    WeightsConfig,
    unit,
)
from withhold.media.extractors.hub import HubExtractor, load_pretrained, load_processor_settings
from withhold.records.samples import Sample, Sound

_RATE = 16_000


class HubertConfig(WeightsConfig):
    """Settings of both sizes."""

    layer: int | None = Field(
        None, ge=0, description="the hidden layer: 0 enters the first block; None is the last"
    )
    samples: int = Field(
        30_000, ge=400, description="samples at 16 kHz that a sound is cut or zero-padded to"
    )


class HubertBase(HubExtractor):
    """The extractor; prepared: (samples,)."""

    name = "hubert-base"
    kind = "sound"
    takes = "sound at 16 kHz, cut or zero-padded to 30,000 samples"
    source = "facebook/hubert-base-ls960 of the model hub, or a folder"
    licence = "Apache-2.0"
    config_type = HubertConfig
    batch = 8
    default: ClassVar[str] = "facebook/hubert-base-ls960"
    standardised: ClassVar[bool] = False  # where the checkpoint does not say

    config: HubertConfig

    def prepare(self, sample: Sample) -> Prepared:
        """The sound cut or padded, and standardised where the network wants it."""
        assert isinstance(sample, Sound)
        wave = resampled(sample, _RATE).samples[: self.config.samples]
        wave = np.pad(wave, (0, self.config.samples - len(wave)))
        if self._standardised:
            wave = (wave - wave.mean()) / np.sqrt(wave.var() + np.float32(1e-7))
        return wave

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """The mean over time of a hidden layer, of unit length."""
        layer, network = self.config.layer, self._network
        waves = torch.from_numpy(np.stack(prepared)).to(pick_device())
        with torch.inference_mode():
            out = network(waves, output_hidden_states=layer is not None)
            hidden = out.last_hidden_state if layer is None else out.hidden_states[layer]
            return unit(hidden.mean(dim=1).cpu().numpy())

    @cached_property
    def _loaded(self) -> tuple[Any, str]:
        network, fingerprint = load_pretrained(
            self.config.weights,
            default=self.default,
            download=self.config.download,
            extractor=self.name,
            model_class="HubertModel",
        )
        layers = int(network.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
        if self.config.layer is not None and self.config.layer > layers:
            raise UserError(
                f"{self.name} has no layer {self.config.layer}: its layers are 0 to {layers}"
            )
        return network.to(pick_device()), fingerprint

    @cached_property
    def _standardised(self) -> bool:
        weights = self.config.weights or self.default
        settings = load_processor_settings(weights, download=self.config.download)
        return bool(settings.get("do_normalize", self.standardised))


class HubertLarge(HubertBase):
    """The size that MaSS uses."""

    name = "hubert-large"
    source = "facebook/hubert-large-ll60k of the model hub, or a folder"
    default = "facebook/hubert-large-ll60k"
    standardised = True
