"""Inception-ResNet v1 (Szegedy et al., 2016) as FaceNet uses it: (b, 3, 160, 160) to (b, 512).

    stem -> 5 x A (256) -> reduce -> 10 x B (896) -> reduce -> 5 x C (1792) -> C without its relu
    -> mean -> linear and batch norm -> length 1

A block is y = relu(x + s P [f1(x), f2(x), ...]) with a few branches f of convolutions, a 1 x 1
convolution P and a fixed s. The names of the parameters are those of the published weights
(facenet-pytorch, from TensorFlow).
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from withhold.learn.nets.inception_blocks import Branches, ConvNormRelu


class InceptionResnetV1(nn.Module):
    """Faces, (pixel - 127.5) / 128, to embeddings of length 1."""

    def __init__(self) -> None:
        super().__init__()
        self.conv2d_1a = ConvNormRelu(3, 32, 3, stride=2)
        self.conv2d_2a = ConvNormRelu(32, 32, 3)
        self.conv2d_2b = ConvNormRelu(32, 64, 3, padding=1)
        self.maxpool_3a = nn.MaxPool2d(3, stride=2)
        self.conv2d_3b = ConvNormRelu(64, 80, 1)
        self.conv2d_4a = ConvNormRelu(80, 192, 3)
        self.conv2d_4b = ConvNormRelu(192, 256, 3, stride=2)
        self.repeat_1 = nn.Sequential(*(_block_a() for _ in range(5)))
        self.mixed_6a = Branches(
            ConvNormRelu(256, 384, 3, stride=2),
            nn.Sequential(
                ConvNormRelu(256, 192, 1),
                ConvNormRelu(192, 192, 3, padding=1),
                ConvNormRelu(192, 256, 3, stride=2),
            ),
            nn.MaxPool2d(3, stride=2),
        )
        self.repeat_2 = nn.Sequential(*(_block_b() for _ in range(10)))
        self.mixed_7a = Branches(
            nn.Sequential(ConvNormRelu(896, 256, 1), ConvNormRelu(256, 384, 3, stride=2)),
            nn.Sequential(ConvNormRelu(896, 256, 1), ConvNormRelu(256, 256, 3, stride=2)),
            nn.Sequential(
                ConvNormRelu(896, 256, 1),
                ConvNormRelu(256, 256, 3, padding=1),
                ConvNormRelu(256, 256, 3, stride=2),
            ),
            nn.MaxPool2d(3, stride=2),
        )
        self.repeat_3 = nn.Sequential(*(_block_c(scale=0.2) for _ in range(5)))
        self.block8 = _block_c(scale=1.0, relu=False)
        self.last_linear = nn.Linear(1792, 512, bias=False)
        self.last_bn = nn.BatchNorm1d(512, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        """(b, 3, 160, 160) to (b, 512)."""
        x = self.maxpool_3a(self.conv2d_2b(self.conv2d_2a(self.conv2d_1a(x))))
        x = self.conv2d_4b(self.conv2d_4a(self.conv2d_3b(x)))
        x = self.mixed_6a(self.repeat_1(x))
        x = self.mixed_7a(self.repeat_2(x))
        x = self.block8(self.repeat_3(x))
        x = self.last_bn(self.last_linear(x.mean(dim=(2, 3))))
        return functional.normalize(x, dim=1)


class _Residual(Branches):
    """y = relu(x + s P [f1(x), f2(x), ...])."""

    def __init__(
        self, width: int, hidden: int, *branches: nn.Module, scale: float, relu: bool = True
    ) -> None:
        super().__init__(*branches)
        self.conv2d = nn.Conv2d(hidden, width, 1)
        self.scale, self.relu = scale, relu

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv2d(super().forward(x)) * self.scale + x
        return functional.relu(y) if self.relu else y


def _block_a() -> _Residual:
    return _Residual(
        256,
        96,
        ConvNormRelu(256, 32, 1),
        nn.Sequential(ConvNormRelu(256, 32, 1), ConvNormRelu(32, 32, 3, padding=1)),
        nn.Sequential(
            ConvNormRelu(256, 32, 1),
            ConvNormRelu(32, 32, 3, padding=1),
            ConvNormRelu(32, 32, 3, padding=1),
        ),
        scale=0.17,
    )


def _block_b() -> _Residual:
    tall_and_wide = nn.Sequential(
        ConvNormRelu(896, 128, 1),
        ConvNormRelu(128, 128, (1, 7), padding=(0, 3)),
        ConvNormRelu(128, 128, (7, 1), padding=(3, 0)),
    )
    return _Residual(896, 256, ConvNormRelu(896, 128, 1), tall_and_wide, scale=0.1)


def _block_c(*, scale: float, relu: bool = True) -> _Residual:
    tall_and_wide = nn.Sequential(
        ConvNormRelu(1792, 192, 1),
        ConvNormRelu(192, 192, (1, 3), padding=(0, 1)),
        ConvNormRelu(192, 192, (3, 1), padding=(1, 0)),
    )
    return _Residual(1792, 384, ConvNormRelu(1792, 192, 1), tall_and_wide, scale=scale, relu=relu)
