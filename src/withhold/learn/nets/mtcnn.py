"""The three networks of MTCNN (Zhang et al., 2016), a face detector in steps.

PNet scores every 12 x 12 window of a picture, RNet the candidates resized to 24 x 24, ONet the
remaining ones resized to 48 x 48. Each returns how the box should move, in parts of its sides (x0,
y0, x1, y1), and the probability of a face; inputs are (pixel - 127.5) / 128. The parameters are
named as in the published weights (facenet-pytorch), which came from Caffe. Caffe orders the axes of
a feature map the other way round, so they are transposed before the dense layers.
"""

from __future__ import annotations

from torch import Tensor, nn


class _Net(nn.Sequential):
    """Convolutions (channels, kernel, pool or 0), a dense layer or none, and the heads.

    The heads are the logits of a face, the moves and, in ONet, five landmarks that nothing needs.
    """

    def __init__(
        self,
        *convolutions: tuple[int, int, int],
        dense: tuple[int, int] | None = None,
        heads: tuple[int, ...] = (2, 4),
    ) -> None:
        super().__init__()
        width, number = 3, len(convolutions) + 1
        for i, (channels, kernel, pool) in enumerate(convolutions, 1):
            self.add_module(f"conv{i}", nn.Conv2d(width, channels, kernel))
            self.add_module(f"prelu{i}", nn.PReLU(channels))
            if pool:
                self.add_module(f"pool{i}", nn.MaxPool2d(pool, 2, ceil_mode=True))
            width = channels
        if dense:
            self.add_module("flat", _Flat())
            self.add_module(f"dense{number}", nn.Linear(*dense))
            self.add_module(f"prelu{number}", nn.PReLU(dense[1]))
        for i, outputs in enumerate(heads, 1):
            head = nn.Linear(dense[1], outputs) if dense else nn.Conv2d(width, outputs, 1)
            self.add_module(f"dense{number + 1}_{i}" if dense else f"conv{number}_{i}", head)
        self._heads = len(heads)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Moves and probabilities."""
        layers = list(self)
        for layer in layers[: -self._heads]:
            x = layer(x)
        face, moves, *_ = layers[-self._heads :]
        return moves(x), face(x).softmax(dim=1)[:, 1]


class _Flat(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 3, 2, 1).flatten(1)


class PNet(_Net):
    """(b, 3, h, w) to moves (b, 4, h', w') and probabilities (b, h', w'); a step is 2 pixels."""

    def __init__(self) -> None:
        super().__init__((10, 3, 2), (16, 3, 0), (32, 3, 0))


class RNet(_Net):
    """(b, 3, 24, 24) to moves (b, 4) and probabilities (b,)."""

    side = 24

    def __init__(self) -> None:
        super().__init__((28, 3, 3), (48, 3, 3), (64, 2, 0), dense=(576, 128))


class ONet(_Net):
    """(b, 3, 48, 48) to moves (b, 4) and probabilities (b,)."""

    side = 48

    def __init__(self) -> None:
        layers = (32, 3, 3), (64, 3, 3), (64, 3, 2), (128, 2, 0)
        super().__init__(*layers, dense=(1152, 256), heads=(2, 4, 10))
