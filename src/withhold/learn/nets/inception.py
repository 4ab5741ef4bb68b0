"""Inception-V1 (GoogLeNet, Szegedy et al., 2015) and Inception-V2 (Ioffe and Szegedy, 2015).

    V1: y = [1 x 1 | 1 x 1, 3 x 3 | 1 x 1, 3 x 3        | max pool, 1 x 1]
    V2: y = [1 x 1 | 1 x 1, 3 x 3 | 1 x 1, 3 x 3, 3 x 3 | pool, 1 x 1    ]

A block lays the channels of its branches side by side; every convolution has batch norm and ReLU.
Names and shapes of the parameters of V1 are those of torchvision's `googlenet`, with 3 x 3 in place
of the paper's 5 x 5; its two auxiliary heads (`aux1`, `aux2`) and its dropout are left out. Its
published weights take pixels in [-1, 1]. V2 has the widths of the paper and names like those of V1.
"""

from __future__ import annotations

from torch import Tensor, nn

from withhold.learn.nets.inception_blocks import Branches, ConvNormRelu
from withhold.learn.nets.model_parts import is_small, scaled, score_head

_Widths = tuple[int, ...]
# Widths of a block: 1 x 1; 3 x 3 and the 1 x 1 before it; the third branch likewise; pool.
# A number is the size of a max pool between blocks.
_V1: dict[str, _Widths | int] = {
    "inception3a": (64, 96, 128, 16, 32, 32),
    "inception3b": (128, 128, 192, 32, 96, 64),
    "maxpool3": 3,
    "inception4a": (192, 96, 208, 16, 48, 64),
    "inception4b": (160, 112, 224, 24, 64, 64),
    "inception4c": (128, 128, 256, 24, 64, 64),
    "inception4d": (112, 144, 288, 32, 64, 64),
    "inception4e": (256, 160, 320, 32, 128, 128),
    "maxpool4": 2,
    "inception5a": (256, 160, 320, 32, 128, 128),
    "inception5b": (384, 192, 384, 48, 128, 128),
}
# Without a 1 x 1 branch, a block halves the side.
_V2: dict[str, _Widths | int] = {
    "inception3a": (64, 64, 64, 64, 96, 32),
    "inception3b": (64, 64, 96, 64, 96, 64),
    "inception3c": (0, 128, 160, 64, 96, 0),
    "inception4a": (224, 64, 96, 96, 128, 128),
    "inception4b": (192, 96, 128, 96, 128, 128),
    "inception4c": (160, 128, 160, 128, 160, 128),
    "inception4d": (96, 128, 192, 160, 192, 128),
    "inception4e": (0, 128, 192, 192, 256, 0),
    "inception5a": (352, 192, 320, 160, 224, 128),
    "inception5b": (352, 192, 320, 192, 224, 128),
}


class Inception(nn.Module):
    """(b, 3, h, w) to scores (b, classes), or to features (b, dimension) if `classes` is None."""

    def __init__(
        self, classes: int | None, *, version: int = 1, width: float = 1.0, side: int = 224
    ) -> None:
        super().__init__()
        small = is_small(side)
        first, third = scaled(64, width), scaled(192, width)
        self.conv1 = ConvNormRelu(3, first, 7, stride=1 if small else 2, padding=3)
        self.maxpool1 = nn.Identity() if small else _halve(3)
        self.conv2 = ConvNormRelu(first, first, 1)
        self.conv3 = ConvNormRelu(first, third, 3, padding=1)
        self.maxpool2 = _halve(3)
        self.path = ["conv1", "maxpool1", "conv2", "conv3", "maxpool2"]
        inputs = third
        for name, settings in (_V1 if version == 1 else _V2).items():
            if isinstance(settings, int):
                block: nn.Module = _halve(settings)
            else:
                widths = tuple(scaled(channels, width) for channels in settings)
                block, inputs = (
                    _block_v1(inputs, widths)
                    if version == 1
                    else _block_v2(inputs, widths, last=name == "inception5b")
                )
            self.add_module(name, block)
            self.path.append(name)
        self.dimension = inputs
        self.fc = score_head(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class scores, or features."""
        for name in self.path:
            x = getattr(self, name)(x)
        found: Tensor = self.fc(x.mean(dim=(2, 3)))
        return found


def _block_v1(inputs: int, widths: _Widths) -> tuple[Branches, int]:
    """A block and the number of channels it gives."""
    one, before_three, three, before_five, five, pool = widths
    block = Branches(
        ConvNormRelu(inputs, one, 1),
        nn.Sequential(
            ConvNormRelu(inputs, before_three, 1),
            ConvNormRelu(before_three, three, 3, padding=1),
        ),
        nn.Sequential(
            ConvNormRelu(inputs, before_five, 1), ConvNormRelu(before_five, five, 3, padding=1)
        ),
        nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), ConvNormRelu(inputs, pool, 1)),
        first=1,
    )
    return block, one + three + five + pool


def _block_v2(inputs: int, widths: _Widths, *, last: bool) -> tuple[Branches, int]:
    """A block and the number of channels it gives; the last block pools by the maximum."""
    one, before_three, three, before_double, double, pool = widths
    halves = one == 0
    stride = 2 if halves else 1
    branches: list[nn.Module] = [
        nn.Sequential(
            ConvNormRelu(inputs, before_three, 1),
            ConvNormRelu(before_three, three, 3, stride=stride, padding=1),
        ),
        nn.Sequential(
            ConvNormRelu(inputs, before_double, 1),
            ConvNormRelu(before_double, double, 3, padding=1),
            ConvNormRelu(double, double, 3, stride=stride, padding=1),
        ),
    ]
    if halves:  # padded as the convolutions are, so that odd sides fit too
        pooled = nn.MaxPool2d(3, stride=2, padding=1)
        return Branches(*branches, pooled, first=2), three + double + inputs
    kind = nn.MaxPool2d if last else nn.AvgPool2d
    branches = [
        ConvNormRelu(inputs, one, 1),
        *branches,
        nn.Sequential(kind(3, stride=1, padding=1), ConvNormRelu(inputs, pool, 1)),
    ]
    return Branches(*branches, first=1), one + three + double + pool


def _halve(size: int) -> nn.MaxPool2d:
    return nn.MaxPool2d(size, stride=2, ceil_mode=True)
