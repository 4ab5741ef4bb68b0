"""What the image and clip models share: the rule for widths, the head, and the small stem."""

from __future__ import annotations

from torch import nn

SMALL_SIDE = 64
LEAST_WIDTH = 8


def scaled(channels: int, width: float) -> int:
    """`channels` of the published network times `width`, rounded, and not under 8 if width < 1."""
    return max(round(channels * width), min(channels, LEAST_WIDTH))


def score_head(dimension: int, classes: int | None) -> nn.Module:
    """Features (b, dimension) to class scores (b, classes); None keeps the features."""
    return nn.Identity() if classes is None else nn.Linear(dimension, classes)


def is_small(side: int) -> bool:
    """Whether images enter without the first two halvings, as under 64 pixels.

    Published stems divide the side by 4 before the first block, which would leave 8 x 8 maps of a
    32-pixel image. Only strides and pools are left out: the parameters keep their shapes, so that
    published weights load for every side.
    """
    return side < SMALL_SIDE
