"""MobileNet-V2 (Sandler et al., 2018): inverted residual blocks with a linear bottleneck.

    y = [x +] norm(W2 relu6(norm(D relu6(norm(W1 x)))))

W1 widens x, D is a 3 x 3 convolution for each channel, W2 makes it narrow again; x is added where
shape and size stay. `width` is the paper's multiplier; widths are rounded to multiples of 8. Names
and shapes of the parameters are those of torchvision's `mobilenet_v2`. Its dropout before the head
is left out, because it draws from torch's global stream.
"""

from __future__ import annotations

from torch import Tensor, nn

from withhold.learn.nets.model_parts import is_small, score_head

# Expansion, channels, blocks and stride of the first block.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class MobileNetV2(nn.Module):
    """(b, 3, h, w) to scores (b, classes), or to features (b, dimension) if `classes` is None."""

    def __init__(self, classes: int | None, *, width: float = 1.0, side: int = 224) -> None:
        super().__init__()
        small = is_small(side)
        inputs = _multiple_of_8(32 * width)
        layers: list[nn.Module] = [_conv(3, inputs, 3, stride=1 if small else 2)]
        for number, (expansion, channels, blocks, first) in enumerate(_STAGES):
            outputs = _multiple_of_8(channels * width)
            for block in range(blocks):
                stride = 1 if block or (small and number == 1) else first
                layers.append(InvertedResidual(inputs, outputs, stride, expansion))
                inputs = outputs
        self.dimension = _multiple_of_8(1280 * max(1.0, width))
        layers.append(_conv(inputs, self.dimension, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Identity(), score_head(self.dimension, classes))

    def forward(self, x: Tensor) -> Tensor:
        """Class scores, or features."""
        found: Tensor = self.classifier(self.features(x).mean(dim=(2, 3)))
        return found


class InvertedResidual(nn.Module):
    """Widen, filter each channel, narrow; add the input where its shape stays."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = [] if expansion == 1 else [_conv(inputs, hidden, 1)]
        self.conv = nn.Sequential(
            *layers,
            _conv(hidden, hidden, 3, stride=stride, groups=hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        h: Tensor = self.conv(x)
        return x + h if self.adds else h


def _conv(inputs: int, outputs: int, size: int, *, stride: int = 1, groups: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(),  # in place, autograd would first copy its input
    )


def _multiple_of_8(channels: float) -> int:
    """The nearest multiple of 8 that is at least 8 and at least 0.9 `channels`."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded
