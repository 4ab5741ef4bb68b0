"""ResNet-18 for images, and ResNet-10 with one block a stage (He et al., 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ResNet(nn.Module):
    """(b, channels, side, side) to class scores (b, classes).

    Four stages of `blocks` basic blocks: 2 make a ResNet-18, 1 a ResNet-10. The first stage is
    `width` wide (64 in the paper), each further one twice as wide and half as large. Images under
    64 pixels enter by a 3 x 3 convolution in place of the 7 x 7 one with stride and pool, which
    would leave 8 x 8 maps for the first stage.
    """

    def __init__(
        self, side: int, classes: int, *, width: int = 64, blocks: int = 2, channels: int = 3
    ) -> None:
        super().__init__()
        stem = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        pool: list[nn.Module] = []
        if side >= 64:
            stem = nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False)
            pool = [nn.MaxPool2d(3, stride=2, padding=1)]
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(width), nn.ReLU(inplace=True), *pool)
        stages, inputs = [], width
        for stage in range(4):
            outputs = width * 2**stage
            for block in range(blocks):
                stages.append(ImageBlock(inputs, outputs, 2 if stage and not block else 1))
                inputs = outputs
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class scores."""
        scores: Tensor = self.head(self.stages(self.stem(x)).mean(dim=(2, 3)))
        return scores


class Pointwise(nn.Conv2d):
    """A 1 x 1 convolution that takes every second pixel before it multiplies.

    The strided kernel of oneDNN writes outside its memory in the backward pass of fewer than 16
    channels, an odd batch and two threads, channels last (torch 2.13).
    """

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        down, right = self.stride
        picked = x[:, :, ::down, ::right].contiguous(memory_format=torch.channels_last)
        return nn.functional.conv2d(picked, self.weight, self.bias)


class ImageBlock(nn.Module):
    """relu(x + conv(relu(conv(x)))), x brought to the new width and size where they change."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.short = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(
                Pointwise(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        return torch.relu_(self.change(x) + self.short(x))
