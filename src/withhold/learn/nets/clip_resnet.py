"""Residual networks of 18 layers for clips (Tran et al., 2018): what R3D and R(2+1)D share.

Clips (b, 3, t, h, w) to the mean over time and place of the last stage, or to class scores with a
head. The two differ in the stem and in the kind of convolution inside a block.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from withhold.learn.nets.model_parts import scaled, score_head

# (inputs, outputs, inputs of the block, stride) to a convolution 3 x 3 x 3 of some kind.
Convolution = Callable[[int, int, int, int], nn.Module]


class ClipResNet(nn.Module):
    """Stem and four stages of two blocks; `classes` None leaves the head `fc` out."""

    def __init__(
        self, stem: nn.Sequential, convolution: Convolution, classes: int | None, width: float
    ) -> None:
        super().__init__()
        widths = [scaled(64 * 2**stage, width) for stage in range(4)]
        self.stem = stem
        self.layer1 = _stage(widths[0], widths[0], convolution, stride=1)
        self.layer2 = _stage(widths[0], widths[1], convolution, stride=2)
        self.layer3 = _stage(widths[1], widths[2], convolution, stride=2)
        self.layer4 = _stage(widths[2], widths[3], convolution, stride=2)
        self.dimension = widths[3]
        self.fc = score_head(self.dimension, classes)

    def maps(self, clips: Tensor) -> list[Tensor]:
        """Feature maps (b, c, t', h', w') after each stage."""
        x, found = self.stem(clips), []
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
            found.append(x)
        return found

    def forward(self, clips: Tensor) -> Tensor:
        """(b, 3, t, h, w) to (b, dimension), or to (b, classes)."""
        found: Tensor = self.fc(self.maps(clips)[-1].mean(dim=(2, 3, 4)))
        return found


class ClipBlock(nn.Module):
    """relu(x + conv2(conv1(x))), x brought to the new width and size where they change."""

    def __init__(self, inputs: int, outputs: int, convolution: Convolution, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(
            convolution(inputs, outputs, inputs, stride),
            nn.BatchNorm3d(outputs),
            nn.ReLU(inplace=True),
        )
        self.conv2 = nn.Sequential(
            convolution(outputs, outputs, inputs, 1), nn.BatchNorm3d(outputs)
        )
        self.downsample: nn.Sequential | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv3d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm3d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        beside = x if self.downsample is None else self.downsample(x)
        return torch.relu_(self.conv2(self.conv1(x)) + beside)


def _stage(inputs: int, outputs: int, convolution: Convolution, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        ClipBlock(inputs, outputs, convolution, stride), ClipBlock(outputs, outputs, convolution, 1)
    )
