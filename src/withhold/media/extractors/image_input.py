"""The input of a network for pictures, as its `preprocessor_config.json` describes it.

    pixels (h, w, 3) -> resize -> crop the middle -> (v * factor - mean) / deviation, (3, h', w')

The steps are those of the image processors of transformers, with ImageNet's values where the file
says nothing. The processors themselves are not used: those of version 4 need torchvision; those of
version 5 on Pillow (5.22) give the same within 5e-7 for ViT, CLIP, ConvNeXt and BiT but take 1.1 to
1.9 times as long, need a file, and let a thin strip grow without bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from withhold.core.errors import UserError
from withhold.media.decode.pictures import Resampling, resized
from withhold.records.samples import BadMedia, ByteArray, FloatArray

IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# In the order of Pillow's numbers.
_RESAMPLING: tuple[Resampling, ...] = ("nearest", "lanczos", "bilinear", "bicubic", "box")
# Processors that take a single number for the shorter side; others take it for both sides.
_SHORTER = ("CLIP", "Bit", "ConvN")
# From this side on ConvNeXt squeezes pictures and crops nothing.
_CONVNEXT_SQUEEZES = 384
# A thinner strip would become millions of pixels long only to be cropped.
_MOST_ASPECT = 100


@dataclass(frozen=True)
class ImageInput:
    """The steps; `size` is (h, w), or the shorter side, and `crop` is (h, w)."""

    size: tuple[int, int] | int
    crop: tuple[int, int] | None = None
    how: Resampling = "bilinear"
    factor: float = 1 / 255
    mean: tuple[float, ...] = IMAGENET_MEAN
    deviation: tuple[float, ...] = IMAGENET_DEVIATION

    @classmethod
    def from_settings(cls, settings: dict[str, Any], *, side: tuple[int, int]) -> ImageInput:
        """From the file's JSON; without a size in it, `side`, the network's own, is used."""
        try:
            return _read(settings, side)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"preprocessor_config.json cannot be understood ({type(error).__name__}: {error});"
                " it should say size, image_mean and image_std"
            ) from error

    def __call__(self, pixels: ByteArray) -> FloatArray:
        """The network's input, (3, h', w')."""
        height, width = self._target(*pixels.shape[:2])
        values = resized(pixels, height, width, how=self.how)
        if self.crop is not None:
            values = _middle(values, *self.crop)
        mean, deviation = np.array(self.mean, np.float32), np.array(self.deviation, np.float32)
        x = (values.astype(np.float32) * np.float32(self.factor) - mean) / deviation
        return np.ascontiguousarray(x.transpose(2, 0, 1))

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if isinstance(self.size, tuple):
            return self.size
        shorter, longer = sorted((height, width))
        if longer > _MOST_ASPECT * shorter:
            raise BadMedia(f"the picture is too long and thin: {width} x {height} pixels")
        along = int(self.size * longer / shorter)
        return (along, self.size) if height > width else (self.size, along)


def _read(settings: dict[str, Any], side: tuple[int, int]) -> ImageInput:
    processor = str(settings.get("image_processor_type") or settings.get("feature_extractor_type"))
    size = _size(settings, processor) or side
    crop = settings.get("crop_size") if settings.get("do_center_crop", True) else None
    if isinstance(size, int) and processor.startswith("ConvN"):
        if size >= _CONVNEXT_SQUEEZES:
            size = (size, size)
        else:
            crop, size = size, int(size / float(settings.get("crop_pct") or 224 / 256))
    if isinstance(size, int) and crop is None:
        crop = size  # a batch needs one size
    number = int(settings.get("resample", 2))
    if not 0 <= number < len(_RESAMPLING):
        raise ValueError(f"resample {number} is none of {', '.join(_RESAMPLING)}")
    normalise = settings.get("do_normalize", True)
    rescale = settings.get("do_rescale", True)
    return ImageInput(
        size=size,
        crop=None if crop is None else _pair(crop),
        how=_RESAMPLING[number],
        factor=float(settings.get("rescale_factor", 1 / 255)) if rescale else 1.0,
        mean=_colours(settings.get("image_mean", IMAGENET_MEAN)) if normalise else (0.0, 0.0, 0.0),
        deviation=_colours(settings.get("image_std", IMAGENET_DEVIATION))
        if normalise
        else (1.0, 1.0, 1.0),
    )


def _size(settings: dict[str, Any], processor: str) -> tuple[int, int] | int | None:
    size = settings.get("size")
    if size is None or not settings.get("do_resize", True):
        return None
    if isinstance(size, dict) and "shortest_edge" in size:
        return int(size["shortest_edge"])
    if isinstance(size, int) and processor.startswith(_SHORTER):
        return size
    return _pair(size)


def _pair(size: Any) -> tuple[int, int]:
    """(h, w) from a size as such files write it."""
    if isinstance(size, dict):
        return int(size["height"]), int(size["width"])
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return int(height), int(width)


def _colours(values: Any) -> tuple[float, ...]:
    red, green, blue = (float(v) for v in values)
    return red, green, blue


def image_side(config: Any) -> tuple[int, int]:
    """The size of pictures (h, w) in a network's config; 224 where it takes any."""
    return _pair(getattr(config, "image_size", None) or 224)


def _middle(values: ByteArray, height: int, width: int) -> ByteArray:
    """The middle (height, width), black where the picture does not reach."""
    lack_h, lack_w = max(height - values.shape[0], 0), max(width - values.shape[1], 0)
    if lack_h or lack_w:
        # As in transformers, the odd row goes on top.
        rows, columns = (-(-lack_h // 2), lack_h // 2), (-(-lack_w // 2), lack_w // 2)
        values = np.pad(values, (rows, columns, (0, 0)))
    top, left = (values.shape[0] - height) // 2, (values.shape[1] - width) // 2
    return values[top : top + height, left : left + width]
