"""ResNet-18 to ResNet-152 for images, as published (He et al., 2016a) or pre-activated (2016b).

    V1: y = relu(s(x) + f(x)),        f = norm . conv . relu . norm . conv ...
    V2: y = s(x) + f(relu(norm(x))),  f = conv . relu . norm . conv ...

s is the identity, or a 1 x 1 convolution where width or size change. f has two 3 x 3 convolutions
(18 and 34 layers), or 1 x 1, 3 x 3 and 1 x 1 with an output four times as wide (50 and more).
Names and shapes of the parameters of V1 are those of torchvision's `resnet18` to `resnet152`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from withhold.learn.nets.model_parts import is_small, scaled, score_head
from withhold.learn.nets.resnet import Pointwise

_BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}
DEPTHS = tuple(_BLOCKS)
_EXPANSION = 4  # of the output of a block with a bottleneck


class DeepResNet(nn.Module):
    """(b, 3, h, w) to scores (b, classes), or to features (b, dimension) if `classes` is None."""

    def __init__(
        self,
        depth: int,
        classes: int | None,
        *,
        width: float = 1.0,
        side: int = 224,
        preactivated: bool = False,
    ) -> None:
        super().__init__()
        small, bottleneck = is_small(side), depth >= 50
        inputs = scaled(64, width)
        self.conv1 = nn.Conv2d(3, inputs, 7, stride=1 if small else 2, padding=3, bias=False)
        # In V2 the first block begins with a norm.
        self.bn1 = nn.Identity() if preactivated else nn.BatchNorm2d(inputs)
        self.relu = nn.Identity() if preactivated else nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, stride=2, padding=1)
        block = PreactivatedBlock if preactivated else ResidualBlock
        for stage, count in enumerate(_BLOCKS[depth]):
            planes, blocks = scaled(64 * 2**stage, width), []
            for number in range(count):
                stride = 2 if stage and not number else 1
                blocks.append(block(inputs, planes, stride=stride, bottleneck=bottleneck))
                inputs = planes * (_EXPANSION if bottleneck else 1)
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.last = nn.Sequential()
        if preactivated:
            self.last = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(inplace=True))
        self.dimension = inputs
        self.fc = score_head(inputs, classes)

    def maps(self, x: Tensor, last: int = 4) -> Tensor:
        """Feature maps (b, c, h', w') after stage `last`, of 4."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in range(1, last + 1):
            x = getattr(self, f"layer{stage}")(x)
        return x

    def forward(self, x: Tensor) -> Tensor:
        """Class scores, or features."""
        found: Tensor = self.fc(self.last(self.maps(x)).mean(dim=(2, 3)))
        return found


class ResidualBlock(nn.Module):
    """relu(s(x) + norm(conv(... relu(norm(conv(x)))))); s has a norm of its own."""

    def __init__(self, inputs: int, planes: int, *, stride: int, bottleneck: bool) -> None:
        super().__init__()
        layers = _convolutions(inputs, planes, stride=stride, bottleneck=bottleneck)
        self.depth, outputs = len(layers), layers[-1].out_channels
        for number, layer in enumerate(layers, 1):
            self.add_module(f"conv{number}", layer)
            self.add_module(f"bn{number}", nn.BatchNorm2d(layer.out_channels))
        self.downsample = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                Pointwise(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        h = x
        for number in range(1, self.depth + 1):
            h = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(h))
            if number < self.depth:
                h = torch.relu_(h)
        return torch.relu_(h + self.downsample(x))


class PreactivatedBlock(nn.Module):
    """s(x) + conv(relu(norm(... conv(h)))), h = relu(norm(x)); where s is learned, it takes h."""

    def __init__(self, inputs: int, planes: int, *, stride: int, bottleneck: bool) -> None:
        super().__init__()
        layers = _convolutions(inputs, planes, stride=stride, bottleneck=bottleneck)
        self.depth, outputs = len(layers), layers[-1].out_channels
        for number, layer in enumerate(layers, 1):
            self.add_module(f"bn{number}", nn.BatchNorm2d(layer.in_channels))
            self.add_module(f"conv{number}", layer)
        self.downsample: nn.Conv2d | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = Pointwise(inputs, outputs, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        h, beside = x, x
        for number in range(1, self.depth + 1):
            h = torch.relu_(getattr(self, f"bn{number}")(h))
            if number == 1 and self.downsample is not None:
                beside = self.downsample(h)
            h = getattr(self, f"conv{number}")(h)
        return h + beside


def _convolutions(inputs: int, planes: int, *, stride: int, bottleneck: bool) -> list[nn.Conv2d]:
    """The convolutions of a block, in order; as in torchvision, the first 3 x 3 has the stride."""
    if not bottleneck:
        return [
            nn.Conv2d(inputs, planes, 3, stride=stride, padding=1, bias=False),
            nn.Conv2d(planes, planes, 3, padding=1, bias=False),
        ]
    return [
        nn.Conv2d(inputs, planes, 1, bias=False),
        nn.Conv2d(planes, planes, 3, stride=stride, padding=1, bias=False),
        nn.Conv2d(planes, planes * _EXPANSION, 1, bias=False),
    ]
