"""`frames-cnn`, `clips-stack`, `clips-r3d`, `frames-detail`: networks that read clips.

A frame attacker reads single frames, as the privacy models of SPAct do, and averages over the
frames of a clip. What only the motion shows, such as who walks by the gait, needs frames in their
order: a stack of frames as the channels of one image, and 3-d convolutions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt
import torch
from torch import Tensor, nn

from withhold.audit.attackers.attacker import ViewName, attacker
from withhold.audit.attackers.pixel_cnn import PixelCnn, PixelNet, shifted
from withhold.learn.nets.model_registry import clip_model
from withhold.learn.nets.resnet import ResNet
from withhold.media.image_detail import COLOURS
from withhold.records.attribute import Attribute

_MULTIPLY_ADDS_3D = 3e10  # of training a second on one core, forward and backward


@attacker
@dataclass(frozen=True)
class FrameCnn(PixelCnn):
    """A narrow ResNet-10 on frames; log-probabilities are averaged over the frames of a clip.

    It reads parts of clips (n, parts, channels, side, side) of bytes. A step shows `at_once` random
    parts of each clip; `images` counts parts.
    """

    name: ClassVar[str] = "frames-cnn"
    view: ClassVar[ViewName] = "frames"
    batch: int = 8
    at_once: int = 4

    def network_for(self, x: npt.NDArray[Any], attribute: Attribute) -> PixelNet:
        """The network for parts of clips like x."""
        scores = self.scores(min(x.shape[-2:]), len(attribute.classes), x.shape[2])
        return AveragedNet(scores, x.shape[2], attribute.multilabel)

    def scores(self, side: int, classes: int, channels: int) -> nn.Module:
        """The network that reads one part."""
        return ResNet(side, classes, width=self.width, blocks=self.blocks, channels=channels)

    def shown(self, clips: Tensor, reach: int, draw: torch.Generator) -> Tensor:
        """Some parts of each clip, all parts of one clip shifted alike."""
        n, parts, channels, *sides = clips.shape
        few = min(self.at_once, parts)
        chosen = torch.rand(n, parts, generator=draw).argsort(dim=1)[:, :few]
        some = clips[torch.arange(n)[:, None], chosen].reshape(n, few * channels, *sides)
        return shifted(some, reach, draw).reshape(n, few, channels, *sides)

    def epochs(self, n: int) -> int:
        """As many as show about `images` parts of n clips."""
        return super().epochs(n * self.at_once)

    def cost(self, n: int, d: int, classes: int) -> float:
        """As of a network on images, for the parts that are shown. d: values of a clip."""
        return self.seconds(self.values(d), 0.7 * n * self.at_once * self.epochs(n))

    def values(self, d: int) -> int:
        """Values of a colour image of the side of a clip of d values."""
        return d // PARTS[self.view]


@attacker
@dataclass(frozen=True)
class ClipStack(FrameCnn):
    """A narrow ResNet-10 that gets the frames of a window as the channels of one image."""

    name: ClassVar[str] = "clips-stack"
    view: ClassVar[ViewName] = "windows"
    raw: ClassVar[bool] = False
    images: int = 20_000
    at_once: int = 1


@attacker
@dataclass(frozen=True)
class ClipR3D(ClipStack):
    """A narrow R3D-18 on windows of frames (Tran et al., 2018), the action model of SPAct.

    `factor` multiplies the published widths; under 16 channels its kernels are not safe.
    """

    name: ClassVar[str] = "clips-r3d"
    raw: ClassVar[bool] = True
    images: int = 12_000
    factor: float = 0.25

    def scores(self, side: int, classes: int, channels: int) -> nn.Module:
        """The network that reads one window."""
        return WindowNet(clip_model("r3d18", classes, width=self.factor))

    def cost(self, n: int, d: int, classes: int) -> float:
        """Multiply-adds of all windows shown, forward and backward."""
        each = 1.1e8 * (self.factor / 0.25) ** 2 * self.values(d) / (COLOURS * 32**2)
        return 0.5 + 3.0 * each * 0.7 * n * self.at_once * self.epochs(n) / _MULTIPLY_ADDS_3D


@attacker
@dataclass(frozen=True)
class FrameDetail(FrameCnn):
    """The same network on what small frames do not show; see `PixelDetail`."""

    name: ClassVar[str] = "frames-detail"
    view: ClassVar[ViewName] = "frame-detail"
    raw: ClassVar[bool] = False
    images: int = 20_000
    at_once: int = 2
    shift: int = 0


# Colour images that are as many values as a clip is in a view.
PARTS: dict[ViewName, int] = {"frames": 16, "windows": 16, "frame-detail": 24}


class AveragedNet(PixelNet):
    """Bytes (b, parts, c, side, side) to the mean over parts of log-probabilities of classes.

    Of a multi-label attribute, the log odds are averaged.
    """

    def __init__(self, scores: nn.Module, channels: int, multilabel: bool) -> None:
        super().__init__(scores, channels)
        self.multilabel = multilabel

    def forward(self, clips: Tensor) -> Tensor:
        """Class scores (b, classes)."""
        n, parts = clips.shape[:2]
        found = super().forward(clips.flatten(0, 1))
        if not self.multilabel:
            found = found.log_softmax(dim=1)
        return found.reshape(n, parts, -1).mean(dim=1)


class WindowNet(nn.Module):
    """Channels (b, t * 3, h, w) that are the frames of a window, to scores of a clip network."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, windows: Tensor) -> Tensor:
        """Class scores (b, classes)."""
        n, channels, *sides = windows.shape
        clips = windows.reshape(n, channels // COLOURS, COLOURS, *sides).transpose(1, 2)
        found: Tensor = self.network(clips.contiguous(memory_format=torch.channels_last_3d))
        return found
