"""R(2+1)D-18 (Tran et al., 2018): R3D-18 with each convolution split into place and time.

A convolution 3 x 3 x 3 from i to o channels becomes 1 x 3 x 3 from i to m and 3 x 1 x 1 from m to
o, with batch norm and ReLU between. A block that i channels enter and o leave has

    m = floor(27 i o / (9 i + 3 o)),

as many parameters as the convolution it replaces. Names and shapes of the parameters are those of
torchvision's `r2plus1d_18`.
"""

from __future__ import annotations

from torch import nn

from withhold.learn.nets.clip_resnet import ClipResNet
from withhold.learn.nets.model_parts import scaled


class R2Plus1D18Net(ClipResNet):
    """Clips (b, 3, t, h, w) to features, or to class scores with a head."""

    def __init__(self, classes: int | None = None, *, width: float = 1.0) -> None:
        middle, first = scaled(45, width), scaled(64, width)
        stem = nn.Sequential(
            nn.Conv3d(3, middle, (1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False),
            nn.BatchNorm3d(middle),
            nn.ReLU(inplace=True),
            nn.Conv3d(middle, first, (3, 1, 1), padding=(1, 0, 0), bias=False),
            nn.BatchNorm3d(first),
            nn.ReLU(inplace=True),
        )
        super().__init__(stem, _place_and_time, classes, width)


def _place_and_time(inputs: int, outputs: int, entering: int, stride: int) -> nn.Sequential:
    # torchvision takes the channels that enter the block for its second convolution too.
    middle = 27 * entering * outputs // (9 * entering + 3 * outputs)
    return nn.Sequential(
        nn.Conv3d(
            inputs, middle, (1, 3, 3), stride=(1, stride, stride), padding=(0, 1, 1), bias=False
        ),
        nn.BatchNorm3d(middle),
        nn.ReLU(inplace=True),
        nn.Conv3d(middle, outputs, (3, 1, 1), stride=(stride, 1, 1), padding=(1, 0, 0), bias=False),
    )
