"""The frozen result of the trained methods on clips: one U-Net for every frame."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import nn

from withhold.learn.nets.channels_last import to_channels_last
from withhold.learn.nets.unet import UNet
from withhold.media.decode.pictures import resized
from withhold.methods.checked_state import StateSettings, checked_modifier
from withhold.methods.clips.clip_config import ClipConfig
from withhold.methods.images.network_modifier import NetworkModifier
from withhold.records.samples import BadMedia, ByteArray, Clip, Picture, Sample


class FrameSettings(StateSettings):
    """The size of the network's frames, and of the network."""

    height: int = Field(ge=8, le=512)
    width: int = Field(ge=8, le=512)
    unet_width: int = Field(ge=1, le=256)
    unet_depth: int = Field(ge=1, le=8)

    @model_validator(mode="after")
    def _halves(self) -> Self:
        if self.height % 2**self.unet_depth or self.width % 2**self.unet_depth:
            raise ValueError("the frames cannot be halved unet_depth times")
        return self

    @classmethod
    def of(cls, config: ClipConfig) -> Self:
        """The sizes in the settings of a method."""
        return cls(**{name: getattr(config, name) for name in cls.model_fields})

    def network(self) -> UNet:
        """The U-Net, before its weights are set."""
        return UNet(self.height, width=self.unet_width, depth=self.unet_depth)


class FrameModifier(NetworkModifier):
    """x'_t = f(x_t) for every frame: a clip of any length and size, or an image.

    A frame is brought to `height` x `width` pixels, changed, and brought back to its size: what the
    network did not see does not leave. Frames are processed one at a time, so that the result for
    a frame depends on this frame alone.
    """

    kinds = ("clip", "image")

    def __init__(self, network: nn.Module, key: bytes, settings: FrameSettings) -> None:
        # Fitted or loaded, the weights lie in the same order: it decides the last bits.
        to_channels_last(network, torch.device("cpu"))
        super().__init__(network, key)
        self.sizes = settings

    @classmethod
    def build(cls, settings: dict[str, Any]) -> nn.Module:
        """The U-Net."""
        return checked_modifier(settings, FrameSettings).network()

    @classmethod
    def made(cls, network: nn.Module, settings: dict[str, Any], key: bytes) -> Self:
        """The modifier of a network that is built and filled."""
        return cls(network, key, checked_modifier(settings, FrameSettings))

    def settings(self) -> dict[str, Any]:
        """The sizes."""
        return self.sizes.model_dump(mode="json")

    def _apply(self, sample: Sample) -> Sample:
        if isinstance(sample, Picture):
            return Picture(self._changed(sample.pixels))
        assert isinstance(sample, Clip)  # the only other kind that `apply` accepts
        if not len(sample.frames):
            raise BadMedia("it has no frames")
        out = np.empty_like(sample.frames)
        for number, frame in enumerate(sample.frames):
            out[number] = self._changed(frame)
        return Clip(out, sample.rate)

    def _changed(self, pixels: ByteArray) -> ByteArray:
        """One frame (h, w, 3)."""
        height, width = pixels.shape[:2]
        if not height or not width:
            raise BadMedia("its frames have no pixels")
        small = resized(np.ascontiguousarray(pixels), self.sizes.height, self.sizes.width)
        with torch.inference_mode():
            x = torch.from_numpy(np.array(small)).permute(2, 0, 1)[None] / 255
            x = x.contiguous(memory_format=torch.channels_last)
            made = (255 * self.network(x)[0]).round().clamp(0, 255).to(torch.uint8)
        return resized(made.permute(1, 2, 0).contiguous().numpy(), height, width)
