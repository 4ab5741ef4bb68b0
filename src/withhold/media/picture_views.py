"""The contrastive view of a picture, made on its pixels (MaSS, Appendix B.1: faces).

Horizontal flip with probability 0.5; colour jitter with probability 0.8; grey with probability
0.2. MaSS does not give the jitter's strengths; they are SimCLR's at half strength, as others who
follow it use: brightness, contrast and saturation times U(0.6, 1.4), hue turned by U(-0.1, 0.1) of
the circle, in an order that is drawn too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from withhold.records.samples import ByteArray, FloatArray, Picture

FLIP, JITTER, GREY = 0.5, 0.8, 0.2
_BRIGHTNESS = _CONTRAST = _SATURATION = 0.4
_HUE = 0.1
_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)


def picture_view(picture: Picture, rng: np.random.Generator) -> Picture:
    """One view; as many numbers are drawn whether they are used or not."""
    chances = rng.random(3)
    jitter = _drawn_jitter(rng)
    pixels = picture.pixels
    if chances[0] < FLIP:
        pixels = flip(pixels)
    if chances[1] < JITTER:
        x: FloatArray = pixels.astype(np.float32) / np.float32(255)
        for change in jitter:
            x = change(x)
        pixels = np.rint(x * 255).astype(np.uint8)
    if chances[2] < GREY:
        pixels = grey(pixels)
    return Picture(np.ascontiguousarray(pixels))


def flip(pixels: ByteArray) -> ByteArray:
    """Left and right exchanged, (..., h, w, 3)."""
    return pixels[..., ::-1, :]


def grey(pixels: ByteArray) -> ByteArray:
    """All three channels at the luminance, (..., h, w, 3)."""
    luminance = np.rint(pixels.astype(np.float32) @ _WEIGHTS).astype(np.uint8)
    return np.repeat(luminance[..., None], 3, axis=-1)


def brightened(x: FloatArray, factor: float) -> FloatArray:
    """Times `factor`; x: (h, w, 3) in 0..1, as for all below."""
    return _blended(x, np.float32(0), factor)


def contrasted(x: FloatArray, factor: float) -> FloatArray:
    """Away from the mean luminance (factor above 1), or towards it."""
    return _blended(x, np.float32((x @ _WEIGHTS).mean()), factor)


def saturated(x: FloatArray, factor: float) -> FloatArray:
    """Away from the pixel's own grey (factor above 1), or towards it."""
    return _blended(x, (x @ _WEIGHTS)[..., None], factor)


def hue_turned(x: FloatArray, turn: float) -> FloatArray:
    """The hue of HSV turned by `turn` of the circle; brightest channel and saturation stay.

    channel_n = v - (v - min) clip(min(k, 4 - k), 0, 1),  k = (n + 6 hue) mod 6,  n = 5, 3, 1.
    """
    value, least = x.max(axis=-1), x.min(axis=-1)
    chroma = value - least
    divisor = np.where(chroma > 0, chroma, 1)
    r, g, b = (x[..., i] for i in range(3))
    sixth = np.select(
        [value == r, value == g],
        [(g - b) / divisor, 2 + (b - r) / divisor],
        4 + (r - g) / divisor,
    )
    k = (np.array([5, 3, 1], np.float32) + (sixth + np.float32(6 * turn))[..., None]) % 6
    out: FloatArray = value[..., None] - chroma[..., None] * np.clip(np.minimum(k, 4 - k), 0, 1)
    return out


def _drawn_jitter(rng: np.random.Generator) -> list[Callable[[FloatArray], FloatArray]]:
    """The four changes with their strengths drawn, in a drawn order."""
    brightness = rng.uniform(1 - _BRIGHTNESS, 1 + _BRIGHTNESS)
    contrast = rng.uniform(1 - _CONTRAST, 1 + _CONTRAST)
    saturation = rng.uniform(1 - _SATURATION, 1 + _SATURATION)
    turn = rng.uniform(-_HUE, _HUE)
    changes: list[Callable[[FloatArray], FloatArray]] = [
        lambda x: brightened(x, brightness),
        lambda x: contrasted(x, contrast),
        lambda x: saturated(x, saturation),
        lambda x: hue_turned(x, turn),
    ]
    return [changes[i] for i in rng.permutation(len(changes))]


def _blended(x: FloatArray, other: FloatArray | np.float32, factor: float) -> FloatArray:
    f = np.float32(factor)
    return np.clip(f * x + (1 - f) * other, 0, 1)
