"""R3D-50: ResNet-50 with 3-d convolutions (Hara et al., 2018).

A block has convolutions of 1 x 1 x 1, 3 x 3 x 3 and 1 x 1 x 1, and an output four times as wide.
The stem halves place by its stride and place and time by its pool, so that 16 frames of 112 pixels
are 8 x 28 x 28 in the first stage. Names and shapes of the parameters are those of the weights that
Hara et al. publish as `r3d50`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from withhold.learn.nets.model_parts import scaled, score_head

_BLOCKS = (3, 4, 6, 3)
_EXPANSION = 4


class R3D50Net(nn.Module):
    """(b, 3, t, h, w) to scores (b, classes), or to features (b, dimension) without `classes`."""

    def __init__(self, classes: int | None = None, *, width: float = 1.0) -> None:
        super().__init__()
        inputs = scaled(64, width)
        self.conv1 = nn.Conv3d(3, inputs, 7, stride=(1, 2, 2), padding=3, bias=False)
        self.bn1 = nn.BatchNorm3d(inputs)
        self.maxpool = nn.MaxPool3d(3, stride=2, padding=1)
        for stage, count in enumerate(_BLOCKS):
            planes, blocks = scaled(64 * 2**stage, width), []
            for number in range(count):
                blocks.append(_Bottleneck(inputs, planes, stride=2 if stage and not number else 1))
                inputs = planes * _EXPANSION
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.dimension = inputs
        self.fc = score_head(inputs, classes)

    def maps(self, clips: Tensor) -> list[Tensor]:
        """Feature maps (b, c, t', h', w') after each stage."""
        x = self.maxpool(torch.relu_(self.bn1(self.conv1(clips))))
        found = []
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
            found.append(x)
        return found

    def forward(self, clips: Tensor) -> Tensor:
        """Class scores, or features."""
        found: Tensor = self.fc(self.maps(clips)[-1].mean(dim=(2, 3, 4)))
        return found


class _Bottleneck(nn.Module):
    """relu(s(x) + f(x)); s is a convolution where width or size change."""

    def __init__(self, inputs: int, planes: int, *, stride: int) -> None:
        super().__init__()
        outputs = planes * _EXPANSION
        self.conv1 = nn.Conv3d(inputs, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm3d(planes)
        self.conv2 = nn.Conv3d(planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm3d(planes)
        self.conv3 = nn.Conv3d(planes, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm3d(outputs)
        self.downsample = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv3d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm3d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        h = torch.relu_(self.bn1(self.conv1(x)))
        h = torch.relu_(self.bn2(self.conv2(h)))
        return torch.relu_(self.bn3(self.conv3(h)) + self.downsample(x))
