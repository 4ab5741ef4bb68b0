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

from withhold.learn.nets.clip_resnet import ClipResNet
from withhold.learn.nets.model_parts import scaled

FEATURES = 512


class R3D18Net(ClipResNet):
    """Convolutions of 3 x 3 x 3; `classes` None leaves the head `fc` out."""

    def __init__(self, classes: int | None = None, *, width: float = 1.0) -> None:
        first = scaled(64, width)
        stem = nn.Sequential(
            nn.Conv3d(3, first, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False),
            nn.BatchNorm3d(first),
            nn.ReLU(inplace=True),
        )
        super().__init__(stem, _convolution, classes, width)


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


def _convolution(inputs: int, outputs: int, _: int, stride: int) -> nn.Conv3d:
    return nn.Conv3d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


def _draw(weight: Tensor, deviation: float, rng: np.random.Generator) -> None:
    drawn = rng.standard_normal(tuple(weight.shape), dtype=np.float32) * np.float32(deviation)
    weight.copy_(torch.from_numpy(drawn))
