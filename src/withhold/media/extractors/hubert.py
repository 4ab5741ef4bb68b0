"""`hubert-base`, `hubert-large`: sound to features as MaSS takes them.

    x = n(mean over t of h_t),  h: (t, d) a hidden layer of HuBERT, the last unless named

The sound is resampled to 16 kHz and cut or zero-padded to 30,000 samples; the network sees the
zeros, and the mean includes them. d is 768 (base) or 1024 (large). If the checkpoint was trained on
input of zero mean and unit variance, the 30,000 samples are standardised together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from withhold.core.errors import UserError
from withhold.media.decode.sounds import resampled
from withhold.media.extractors.extractor import (
    ExtractorConfig,
    FloatArray,
    Prepared,
    WeightsConfig,
    unit,
)
from withhold.media.extractors.hub import HubExtractor
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
    config: HubertConfig
    batch = 8
    default = "facebook/hubert-base-ls960"
    model_class = "HubertModel"
    standardised: ClassVar[bool] = False  # unless the checkpoint says otherwise

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        layer, layers = self.config.layer, int(self._network.config.num_hidden_layers)
        if layer is not None and layer > layers:
            raise UserError(f"{self.name} has no layer {layer}: its layers are 0 to {layers}")
        settings = self._processor_settings()
        self._standardised = bool(settings.get("do_normalize", self.standardised))

    def prepare(self, sample: Sample) -> Prepared:
        """The sound cut or padded, and standardised if the network was trained so."""
        assert isinstance(sample, Sound)
        wave = resampled(sample, _RATE).samples[: self.config.samples]
        wave = np.pad(wave, (0, self.config.samples - len(wave)))
        if self._standardised:
            wave = (wave - wave.mean()) / np.sqrt(wave.var() + np.float32(1e-7))
        return wave

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """The mean over time of a hidden layer, of unit length."""
        layer, network = self.config.layer, self._network
        waves = torch.from_numpy(np.stack(prepared)).to(network.device)
        with torch.inference_mode():
            out = network(waves, output_hidden_states=layer is not None)
            hidden = out.last_hidden_state if layer is None else out.hidden_states[layer]
            return unit(hidden.mean(dim=1).cpu().numpy())


class HubertLarge(HubertBase):
    """The size that MaSS uses."""

    name = "hubert-large"
    source = "facebook/hubert-large-ll60k of the model hub, or a folder"
    default = "facebook/hubert-large-ll60k"
    standardised = True
