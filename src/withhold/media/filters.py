"""Image filters that take detail away, (..., h, w, 3) bytes to the same shape.

All leading axes (the frames of a clip, a batch) are filtered alike and apart from each other, so a
clip of equal frames stays one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from withhold.core.errors import UserError
from withhold.records.samples import ByteArray

# Values in float at once (64 MB): the memory of a long clip stays that of a few frames.
_VALUES = 1 << 24


def gaussian_blur(pixels: ByteArray, kernel: int, sigma: float) -> ByteArray:
    """Blur with a square Gaussian of odd side `kernel`, as torchvision's GaussianBlur does.

    y[i] = sum_x w[x] p[i + x],  w[x] proportional to exp(-x^2 / 2 sigma^2),  |x| <= kernel // 2,

    along the rows and then the columns, mirrored at the edges without repeating the edge, rounded.
    torchvision refuses an image smaller than half the kernel; here it is mirrored again and again.
    """
    if kernel < 1 or kernel % 2 == 0:
        raise UserError(f"the kernel of a blur is an odd number of pixels, not {kernel}")
    if not sigma > 0:
        raise UserError(f"the sigma of a blur is above 0, not {sigma}")
    weights = gaussian_weights(kernel, sigma)
    pad = kernel // 2

    def blur(planes: Tensor) -> Tensor:
        h, w = planes.shape[-2:]
        planes = planes[:, :, _mirrored(h, pad)]
        planes = torch.nn.functional.conv2d(planes, weights.reshape(1, 1, -1, 1))
        planes = planes[..., _mirrored(w, pad)]
        return torch.nn.functional.conv2d(planes, weights.reshape(1, 1, 1, -1))

    return _on_planes(pixels, blur)


def gaussian_weights(kernel: int, sigma: float) -> Tensor:
    """The weights of a Gaussian of `kernel` pixels, (kernel,), with sum 1."""
    x = torch.arange(kernel, dtype=torch.float64) - (kernel - 1) / 2
    weights = torch.exp(-0.5 * (x / sigma) ** 2)
    return (weights / weights.sum()).float()


def downsample(pixels: ByteArray, ratio: float) -> ByteArray:
    """Shrink both sides by `ratio` with area means, and enlarge bilinearly to the size it had.

    The small image is rounded to bytes, as a file of it would be: that is all that is left.
    """
    if not ratio >= 1:
        raise UserError(f"the ratio of a downsample is 1 or more, not {ratio}")

    def shrink(planes: Tensor) -> Tensor:
        h, w = planes.shape[-2:]
        small = (max(round(h / ratio), 1), max(round(w / ratio), 1))
        planes = torch.nn.functional.interpolate(planes, small, mode="area").round_()
        return torch.nn.functional.interpolate(planes, (h, w), mode="bilinear", align_corners=False)

    return _on_planes(pixels, shrink)


def pixelate(pixels: ByteArray, blocks: int) -> ByteArray:
    """A mosaic: the mean of each of `blocks` x `blocks` cells that share the image evenly.

    An image with fewer rows (or columns) than that keeps them all.
    """
    if blocks < 1:
        raise UserError(f"a mosaic has at least 1 block a side, not {blocks}")
    if pixels.size == 0:
        return pixels.copy()
    h, w = pixels.shape[-3:-1]
    # Pixel i is in cell i * cells // side; the cells are disjoint, and the sums exact.
    rows, columns = (np.arange(side) * min(blocks, side) // side for side in (h, w))
    first = [np.flatnonzero(np.diff(cell, prepend=-1)) for cell in (rows, columns)]
    sums = np.add.reduceat(pixels, first[0], axis=-3, dtype=np.int64)
    sums = np.add.reduceat(sums, first[1], axis=-2)
    count = np.outer(np.bincount(rows), np.bincount(columns))[..., None]
    means = ((2 * sums + count) // (2 * count)).astype(np.uint8)
    return np.ascontiguousarray(means[..., rows, :, :][..., columns, :])


def blacken(pixels: ByteArray) -> ByteArray:
    """Nothing: every channel of every pixel is zero."""
    return np.zeros_like(pixels)


def _on_planes(pixels: ByteArray, change: Callable[[Tensor], Tensor]) -> ByteArray:
    """`change` on float planes (n, 1, h, w), a few frames at a time, rounded back to bytes."""
    if pixels.size == 0:
        return pixels.copy()
    h, w = pixels.shape[-3:-1]
    frames = pixels.reshape(-1, h, w, 3)
    out = np.empty_like(frames, order="C")
    step = max(_VALUES // (h * w * 3), 1)
    with torch.inference_mode():
        for start in range(0, len(frames), step):
            some = frames[start : start + step]
            planes = torch.from_numpy(some.transpose(0, 3, 1, 2).astype(np.float32, order="C"))
            changed = change(planes.reshape(-1, 1, h, w)).round_().clamp_(0, 255)
            whole = changed.to(torch.uint8).reshape(-1, 3, h, w)
            out[start : start + step] = whole.permute(0, 2, 3, 1).numpy()
    return out.reshape(pixels.shape)


def _mirrored(side: int, pad: int) -> Tensor:
    """Indices that extend 0..side-1 by `pad` on both ends, mirrored as often as it takes."""
    if side == 1:
        return torch.zeros(1 + 2 * pad, dtype=torch.long)
    there = torch.arange(-pad, side + pad) % (2 * (side - 1))
    return torch.minimum(there, 2 * (side - 1) - there)
