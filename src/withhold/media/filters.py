"""Image filters that remove detail: bytes (..., h, w, 3) to bytes of the same shape.

Each image along the leading axes (the frames of a clip, a batch) is filtered alike and by itself,
so a clip of equal frames stays one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.records.samples import ByteArray, FloatArray


def gaussian_blur(pixels: ByteArray, kernel: int, sigma: float) -> ByteArray:
    """Blur with a square Gaussian of odd side `kernel`, as torchvision's GaussianBlur does.

    y[i] = sum_x w[x] p[i + x],  w[x] proportional to exp(-x^2 / 2 sigma^2),  |x| <= kernel // 2,

    along the columns and then the rows, mirrored at the edges without repeating the edge, rounded.
    torchvision refuses an image smaller than half the kernel; here it is mirrored again and again.
    """
    if kernel < 1 or kernel % 2 == 0:
        raise UserError(f"the kernel of a blur must be an odd number of pixels, not {kernel}")
    if not sigma > 0:
        raise UserError(f"the sigma of a blur must be above 0, not {sigma}")

    from scipy.ndimage import gaussian_filter1d  # a fifth of a second to import

    def blur(image: FloatArray) -> FloatArray:
        for axis in (0, 1):
            image = gaussian_filter1d(image, sigma, axis=axis, mode="mirror", radius=kernel // 2)
        return image

    return _on_each(pixels, blur)


def downsample(pixels: ByteArray, ratio: float) -> ByteArray:
    """Shrink both sides by `ratio` with area means, then enlarge bilinearly to the original size.

    The small image is rounded to bytes, as a file of it would be, so nothing else is left.
    """
    if not ratio >= 1:
        raise UserError(f"the ratio of a downsample must be 1 or more, not {ratio}")
    interpolate = torch.nn.functional.interpolate

    def shrink(image: FloatArray) -> FloatArray:
        h, w = image.shape[:2]
        small = (max(round(h / ratio), 1), max(round(w / ratio), 1))
        planes = torch.from_numpy(image).permute(2, 0, 1)[None].contiguous()
        planes = interpolate(planes, small, mode="area").round_()
        planes = interpolate(planes, (h, w), mode="bilinear", align_corners=False)
        large: FloatArray = planes[0].permute(1, 2, 0).numpy()
        return large

    return _on_each(pixels, shrink)


def pixelate(pixels: ByteArray, blocks: int) -> ByteArray:
    """A mosaic: the mean of each of `blocks` x `blocks` cells that share the image evenly.

    An image with fewer rows (or columns) than `blocks` keeps all of them.
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
    """Black: every channel of every pixel is zero."""
    return np.zeros_like(pixels)


def _on_each(pixels: ByteArray, change: Callable[[FloatArray], FloatArray]) -> ByteArray:
    """`change` on each image (h, w, 3) as floats, rounded back to bytes."""
    images = pixels.reshape(-1, *pixels.shape[-3:])
    out = np.empty(images.shape, np.uint8)
    for i, image in enumerate(images):
        out[i] = np.clip(np.rint(change(image.astype(np.float32, order="C"))), 0, 255)
    return out.reshape(pixels.shape)
