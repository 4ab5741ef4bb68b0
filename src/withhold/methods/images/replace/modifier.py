"""The frozen result of `gap` and `replace`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from withhold.core.keyed import keyed_normal, keyed_uniform, other_key
from withhold.learn.nets.channels_last import to_channels_last
from withhold.learn.nets.unet import UNet
from withhold.media.decode.pictures import resized
from withhold.methods.checked_state import StateSettings, checked_modifier
from withhold.methods.images.network_modifier import NetworkModifier
from withhold.methods.images.replace.config import GapConfig
from withhold.methods.images.replace.new_classes import NewClasses
from withhold.methods.modifier import FloatArray, Modifier
from withhold.records.samples import ByteArray, Picture, Sample


class ReplaceSettings(StateSettings):
    """The sizes of the networks, which of them there are, and the new classes."""

    side: int = Field(ge=8, le=512)
    width: int = Field(ge=1, le=256)
    depth: int = Field(ge=1, le=8)
    noise: int = Field(ge=1, le=65536)
    use_filter: bool = True
    classes: NewClasses | None = None

    @classmethod
    def of(cls, config: GapConfig, *, use_filter: bool, classes: NewClasses | None) -> Self:
        """The sizes in the settings of the method."""
        sizes = {name: getattr(config, name) for name in ("side", "width", "depth", "noise")}
        return cls(**sizes, use_filter=use_filter, classes=classes)

    def networks(self) -> nn.ModuleDict:
        """The U-Nets, before their weights are set."""
        sizes: dict[str, Any] = {"width": self.width, "depth": self.depth, "noise": self.noise}
        found: dict[str, nn.Module] = {}
        if self.use_filter:
            found["filter"] = UNet(self.side, **sizes)
        if self.classes is not None:
            found["generator"] = UNet(self.side, **sizes, classes=len(self.classes.values))
        return nn.ModuleDict(found)


@dataclass(frozen=True, eq=False)
class ImageDraws:
    """What goes into the networks for one image: (3, side, side) in [0, 1], the noise of each
    network by its name, and the number of the new class, if there is one."""

    image: FloatArray
    noise: dict[str, FloatArray]
    new_class: int | None


class ReplaceModifier(NetworkModifier):
    """x'' = g(f(x, z1), s', z2). Noise and s' depend on the pixels and the key alone.

    An image is brought to `side` x `side` pixels, changed, and brought back to its size: what the
    networks did not see does not leave.
    """

    method = "replace"

    def __init__(self, network: nn.Module, key: bytes, settings: ReplaceSettings) -> None:
        # Fitted or loaded, the weights lie in the same order: it decides the last bits.
        to_channels_last(network, torch.device("cpu"))
        super().__init__(network, key)
        self.sizes = settings
        self.networks: dict[str, nn.Module] = dict(network.named_children())

    @classmethod
    def build(cls, settings: dict[str, Any]) -> nn.Module:
        """The U-Nets by name."""
        return checked_modifier(settings, ReplaceSettings).networks()

    @classmethod
    def made(cls, network: nn.Module, settings: dict[str, Any], key: bytes) -> Self:
        """The modifier of a network that is built and filled."""
        return cls(network, key, checked_modifier(settings, ReplaceSettings))

    def settings(self) -> dict[str, Any]:
        """Sizes and new classes."""
        return self.sizes.model_dump(mode="json")

    def directed(self, to: Mapping[str, str]) -> Modifier:
        """The same modifier, with s' chosen: {attribute: class}."""
        if self.sizes.classes is None:
            return super().directed(to)
        chosen = self.sizes.classes.directed(to)
        return type(self)(self.network, self.key, self.sizes.model_copy(update={"classes": chosen}))

    def filter_alone(self) -> GapModifier:
        """What `gap` with the same settings would have learned: the filter learns by itself."""
        alone = self.sizes.model_copy(update={"classes": None})
        return GapModifier(nn.ModuleDict({"filter": self.networks["filter"]}), self.key, alone)

    def new_class(self, pixels: ByteArray) -> int:
        """The number of the class that is put in an image (h, w, 3)."""
        assert self.sizes.classes is not None
        uniform = keyed_uniform(other_key(self.key, "new class"), _record(pixels))
        return int(self.sizes.classes.draw(uniform)[0])

    def _apply(self, sample: Sample) -> Sample:
        assert isinstance(sample, Picture)  # the only kind that `apply` accepts
        height, width = sample.pixels.shape[:2]
        with torch.inference_mode():
            made = self._changed(self.drawn(sample.pixels))[0]
            pixels = (255 * made).round().to(torch.uint8).permute(1, 2, 0).contiguous().numpy()
        return Picture(resized(pixels, height, width))

    def drawn(self, pixels: ByteArray) -> ImageDraws:
        """The image at the size of the networks; its own pixels (h, w, 3) decide its draws."""
        small = resized(pixels, self.sizes.side, self.sizes.side)
        image = torch.from_numpy(np.array(small)).permute(2, 0, 1) / 255
        noise = {
            name: keyed_normal(
                other_key(self.key, f"noise of {name}"), _record(pixels), self.sizes.noise
            )[0]
            for name in self.networks
        }
        new = None if self.sizes.classes is None else self.new_class(pixels)
        return ImageDraws(image.numpy(), noise, new)

    def _changed(self, drawn: ImageDraws) -> Tensor:
        """One image, changed: (1, 3, side, side)."""
        x = torch.from_numpy(drawn.image)[None].contiguous(memory_format=torch.channels_last)
        for name, network in self.networks.items():
            noise = torch.from_numpy(drawn.noise[name])[None]
            label = torch.tensor([drawn.new_class]) if name == "generator" else None
            x = network(x, noise, label)
        return x


class GapModifier(ReplaceModifier):
    """x' = f(x, z1): the filter alone."""

    method = "gap"


def _record(pixels: ByteArray) -> FloatArray:
    """The pixels as one row, as keyed draws take a record."""
    return pixels.reshape(1, -1).astype(np.float32)


def as_bytes(images: Tensor) -> ByteArray:
    """Images (n, 3, h, w) in [0, 1] as bytes (n, h, w, 3)."""
    whole = (255 * images.detach().cpu()).round().clamp(0, 255).to(torch.uint8)
    return whole.permute(0, 2, 3, 1).contiguous().numpy()
