"""The U-Net of all trained methods on images and clips (Ronneberger et al., 2015)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

LABEL_WIDTH = 128  # of the embedding of a class


class UNet(nn.Module):
    """(b, 3, side, side) in [0, 1], perhaps noise and a class, to an image of the same shape.

    `depth` times a block and a max-pool, a block at the bottom, then as many times up: nearest
    neighbours, the block's own output from the way down, a block. A block is convolution, batch
    norm and ReLU, twice; its width doubles on every level, from `width` on. At the bottom the noise
    (b, noise) is projected to the shape of the feature maps and laid beside them; a class is
    embedded and projected to one map. A 1 x 1 convolution and a sigmoid make the image. Without
    noise and class, images may have any height and width that can be halved `depth` times.
    """

    def __init__(
        self, side: int, *, width: int, depth: int, noise: int = 0, classes: int | None = None
    ) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.bottom_side = side // 2**depth
        area = self.bottom_side**2
        self.down = nn.ModuleList(
            _block(inputs, outputs) for inputs, outputs in zip([3, *widths], widths, strict=False)
        )
        self.noise = nn.Linear(noise, widths[-1] * area) if noise else None
        self.label: nn.Sequential | None = None
        if classes is not None:
            self.label = nn.Sequential(
                nn.Embedding(classes, LABEL_WIDTH), nn.Linear(LABEL_WIDTH, area)
            )
        below = widths[-1] * (2 if noise else 1) + (classes is not None)
        self.up = nn.ModuleList()
        for beside in reversed(widths[:-1]):
            self.up.append(_block(below + beside, beside))
            below = beside
        self.image = nn.Conv2d(widths[0], 3, 1)
        self.pool = nn.MaxPool2d(2)
        self.grow = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(
        self, x: Tensor, noise: Tensor | None = None, label: Tensor | None = None
    ) -> Tensor:
        """x: (b, 3, side, side), noise: (b, noise), label: (b,) class numbers."""
        beside = []
        h = self.down[0](x)
        for block in self.down[1:]:
            beside.append(h)
            h = block(self.pool(h))
        maps = [h]
        if self.noise is not None:
            maps.append(self.noise(noise).view_as(h))
        if self.label is not None:
            maps.append(self.label(label).view(-1, 1, self.bottom_side, self.bottom_side))
        h = torch.cat(maps, dim=1) if len(maps) > 1 else h
        for block in self.up:
            h = block(torch.cat([self.grow(h), beside.pop()], dim=1))
        return torch.sigmoid(self.image(h))


def _block(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in (inputs, outputs):
        # No bias: the batch norm would subtract it.
        layers += [
            nn.Conv2d(width, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)
