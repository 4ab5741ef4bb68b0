"""MobileNet-V1 (Howard et al., 2017): a 3 x 3 convolution for each channel, then a 1 x 1 across.

    (b, 3, h, w) -> conv 3 x 3 -> 13 x [depthwise 3 x 3, pointwise 1 x 1] -> mean -> scores

Every convolution is followed by batch norm and ReLU. `width` is the paper's multiplier. The names
of the parameters are `model.<block>.<layer>` and `fc`, as in the common PyTorch version.
"""

from __future__ import annotations

from torch import Tensor, nn

from withhold.learn.nets.model_parts import is_small, scaled, score_head

# Channels and stride of each block after the first convolution.
_BLOCKS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *[(512, 1)] * 5,
    (1024, 2),
    (1024, 1),
)


class MobileNetV1(nn.Module):
    """(b, 3, h, w) to scores (b, classes), or to features (b, dimension) if `classes` is None."""

    def __init__(self, classes: int | None, *, width: float = 1.0, side: int = 224) -> None:
        super().__init__()
        halvings_left_out = 2 if is_small(side) else 0
        inputs = scaled(32, width)
        stride = 1 if halvings_left_out else 2
        blocks = [nn.Sequential(*_norm_relu(nn.Conv2d(3, inputs, 3, stride, 1, bias=False)))]
        for channels, stride in _BLOCKS:
            outputs = scaled(channels, width)
            if stride == 2 and halvings_left_out == 2:
                stride, halvings_left_out = 1, 0
            blocks.append(_block(inputs, outputs, stride))
            inputs = outputs
        self.model = nn.Sequential(*blocks)
        self.dimension = inputs
        self.fc = score_head(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class scores, or features."""
        found: Tensor = self.fc(self.model(x).mean(dim=(2, 3)))
        return found


def _block(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    depthwise = nn.Conv2d(inputs, inputs, 3, stride, padding=1, groups=inputs, bias=False)
    pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
    return nn.Sequential(*_norm_relu(depthwise), *_norm_relu(pointwise))


def _norm_relu(convolution: nn.Conv2d) -> list[nn.Module]:
    return [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU(inplace=True)]
