"""R3D-18: a residual network of 18 layers with 3-d convolutions (Tran et al., 2018).

Clips (b, 3, t, h, w) to features (b, 512), the mean over time and place of the last stage, or to
class scores with a head. Names and shapes of its parameters are those of the weights that
torchvision publishes as `r3d_18`, so that these load.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

FEATURES = 512


class R3D18Net(nn.Module):
    """Stem and four stages of two blocks; `classes` None leaves the head `fc` out."""

    def __init__(self, classes: int | None = None) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv3d(3, 64, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )
        self.layer1 = _stage(64, 64, stride=1)
        self.layer2 = _stage(64, 128, stride=2)
        self.layer3 = _stage(128, 256, stride=2)
        self.layer4 = _stage(256, FEATURES, stride=2)
        self.fc = nn.Linear(FEATURES, classes) if classes is not None else None

    def forward(self, clips: Tensor) -> Tensor:
        """(b, 3, t, h, w) to (b, 512), or to (b, classes)."""
        x = self.stem(clips)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean(dim=(2, 3, 4))
        found: Tensor = x if self.fc is None else self.fc(x)
        return found


class BasicBlock(nn.Module):
    """relu(x + conv2(conv1(x))), x brought to the new width and size where they change."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(
            _convolution(inputs, outputs, stride), nn.BatchNorm3d(outputs), nn.ReLU(inplace=True)
        )
        self.conv2 = nn.Sequential(_convolution(outputs, outputs, 1), nn.BatchNorm3d(outputs))
        self.downsample: nn.Sequential | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv3d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm3d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        beside = x if self.downsample is None else self.downsample(x)
        return torch.relu_(self.conv2(self.conv1(x)) + beside)


def random_r3d18(seed: int, classes: int | None = None) -> R3D18Net:
    """The network before any training: He's normal weights by fan-out, batch norms that do nothing.

    Drawn by numpy, whose numbers are the same on every machine; torch's own stream is not touched.
    """
    network = empty_r3d18(classes)
    rng = np.random.default_rng([0x83D18, seed])
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Conv3d):
                fan_out = module.out_channels * math.prod(module.kernel_size)
                _draw(module.weight, math.sqrt(2 / fan_out), rng)
            elif isinstance(module, nn.BatchNorm3d):
                module.reset_parameters()
            elif isinstance(module, nn.Linear):
                _draw(module.weight, 0.01, rng)
                module.bias.zero_()
    return network


def empty_r3d18(classes: int | None = None) -> R3D18Net:
    """The network with memory for its parameters and nothing in it yet."""
    with torch.device("meta"):
        network = R3D18Net(classes)
    return network.to_empty(device="cpu")


def _stage(inputs: int, outputs: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))


def _convolution(inputs: int, outputs: int, stride: int) -> nn.Conv3d:
    return nn.Conv3d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


def _draw(weight: Tensor, deviation: float, rng: np.random.Generator) -> None:
    drawn = rng.standard_normal(tuple(weight.shape), dtype=np.float32) * np.float32(deviation)
    weight.copy_(torch.from_numpy(drawn))
