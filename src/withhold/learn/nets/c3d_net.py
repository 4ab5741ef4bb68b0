"""C3D (Tran et al., 2015): eight convolutions of 3 x 3 x 3 with max pools, three linear layers.

    (b, 3, t, h, w) -> 5 x [1 or 2 convolutions, pool] -> (b, 512, 1, 4, 4) -> fc6, fc7 -> fc8

There is no batch norm. Names and shapes of the parameters are those of the common PyTorch version
(`conv1`, `conv2`, `conv3a` to `conv5b`, `fc6` to `fc8`). Its dropout is left out, because it draws
from torch's global stream.
"""

from __future__ import annotations

from torch import Tensor, nn

from withhold.learn.nets.model_parts import scaled, score_head

# The convolutions of each group, by their channels.
_GROUPS = (
    {"conv1": 64},
    {"conv2": 128},
    {"conv3a": 256, "conv3b": 256},
    {"conv4a": 512, "conv4b": 512},
    {"conv5a": 512, "conv5b": 512},
)


class C3DNet(nn.Module):
    """(b, 3, t, h, w) to scores (b, classes), or to features (b, dimension) if `classes` is None.

    The last maps are pooled to 1 x 4 x 4, which changes nothing for the published 16 frames of 112
    pixels. Pools round sizes up, so that shorter and smaller clips pass through.
    """

    def __init__(self, classes: int | None = None, *, width: float = 1.0) -> None:
        super().__init__()
        self.path: list[str] = []
        inputs = 3
        for number, group in enumerate(_GROUPS, 1):
            for name, channels in group.items():
                outputs = scaled(channels, width)
                self.add_module(name, HeConv3d(inputs, outputs, 3, padding=1))
                self.add_module(f"relu_{name}", nn.ReLU(inplace=True))
                self.path += [name, f"relu_{name}"]
                inputs = outputs
            size = (1, 2, 2) if number == 1 else (2, 2, 2)  # time is kept at first
            padding = (0, 1, 1) if number == len(_GROUPS) else 0  # 7 x 7 becomes 4 x 4
            self.add_module(f"pool{number}", nn.MaxPool3d(size, padding=padding, ceil_mode=True))
            self.path.append(f"pool{number}")
        self.fit = nn.AdaptiveMaxPool3d((1, 4, 4))
        self.dimension = scaled(4096, width)
        self.fc6 = nn.Linear(inputs * 16, self.dimension)
        self.fc7 = nn.Linear(self.dimension, self.dimension)
        self.relu = nn.ReLU(inplace=True)
        self.fc8 = score_head(self.dimension, classes)

    def forward(self, clips: Tensor) -> Tensor:
        """Class scores, or features."""
        x = clips
        for name in self.path:
            x = getattr(self, name)(x)
        x = self.relu(self.fc6(self.fit(x).flatten(1)))
        found: Tensor = self.fc8(self.relu(self.fc7(x)))
        return found


class HeConv3d(nn.Conv3d):
    """A convolution that starts with He's normal weights and no bias.

    torch's own start makes the variance a sixth in each layer with ReLU; without batch norm,
    nothing would be left of a clip after eight of them.
    """

    def reset_parameters(self) -> None:
        """Draw the weights, deviation sqrt(2 / fan-in)."""
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu")
        if self.bias is not None:
            nn.init.zeros_(self.bias)
