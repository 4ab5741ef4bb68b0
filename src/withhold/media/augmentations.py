"""How one sample is changed for a contrastive view (MaSS, Appendix B.1).

| kind  | first view              | second view             |
|-------|-------------------------|-------------------------|
| sound | a stretch cut out (0.4) | a stretch masked (0.5)  |
| image | flip, colour, grey      | the same, drawn anew    |
| clip  | one time instant, blur, grey, alike on all frames | another instant |

Sound is not changed in pitch, loudness or speed: that would teach the encoder to ignore gender,
accent and age. Pictures are flipped with probability 0.5, jittered in colour with 0.8 and made grey
with 0.2. MaSS does not give the strength of the jitter; this is SimCLR's at half strength, as in
other work that follows it: brightness, contrast and saturation times U(0.6, 1.4), hue turned by
U(-0.1, 0.1) of the circle, in a random order. Clips are resized to 112x112 and blurred as in
SimCLR: a kernel of a tenth of the side, sigma U(0.1, 2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from withhold.core.errors import UserError
from withhold.media.decode.pictures import LUMA, grey
from withhold.media.filters import gaussian_blur
from withhold.media.frames import resize_frames
from withhold.media.windows import Window, fitting_step, span
from withhold.records.samples import ByteArray, Clip, FloatArray, Picture, Sample, Sound

_FLIP, _JITTER, _GREY = 0.5, 0.8, 0.2
_STRENGTH, _HUE = 0.4, 0.1
_SIDE, _KERNEL, _SIGMA = 112, 11, (0.1, 2.0)


def view_of(sample: Sample, which: int, rng: np.random.Generator) -> Sample:
    """The first (0) or the second (1) view of a sample."""
    if isinstance(sample, Sound):
        return crop_out(sample, rng) if which == 0 else mask_out(sample, rng)
    if isinstance(sample, Picture):
        return picture_view(sample, rng)
    if isinstance(sample, Clip):
        return clip_view(sample, rng)
    raise UserError("there are no views of text; fit without --raw")


# --- sound ---


def crop_out(sound: Sound, rng: np.random.Generator, *, coverage: float = 0.4) -> Sound:
    """Remove one random stretch of `coverage` of the clip and join the rest."""
    return Sound(np.delete(sound.samples, _stretch(sound, coverage, rng)), sound.rate)


def mask_out(sound: Sound, rng: np.random.Generator, *, coverage: float = 0.5) -> Sound:
    """Replace one random stretch of `coverage` of the clip by zeros; the length stays."""
    samples = sound.samples.copy()
    samples[_stretch(sound, coverage, rng)] = 0
    return Sound(samples, sound.rate)


def _stretch(sound: Sound, coverage: float, rng: np.random.Generator) -> slice:
    """A stretch of the sound; all places are equally likely."""
    size = int(len(sound.samples) * coverage)
    first = int(rng.integers(len(sound.samples) - size + 1))
    return slice(first, first + size)


# --- pictures ---


def picture_view(picture: Picture, rng: np.random.Generator) -> Picture:
    """One view; the same count of numbers is drawn whether they are used or not."""
    chances = rng.random(3)
    jitter = _drawn_jitter(rng)
    pixels = picture.pixels
    if chances[0] < _FLIP:
        pixels = pixels[:, ::-1]
    if chances[1] < _JITTER:
        x: FloatArray = pixels.astype(np.float32) / np.float32(255)
        for change in jitter:
            x = change(x)
        pixels = np.rint(x * 255).astype(np.uint8)
    if chances[2] < _GREY:
        pixels = greyed(pixels)
    return Picture(np.ascontiguousarray(pixels))


def _drawn_jitter(rng: np.random.Generator) -> list[Callable[[FloatArray], FloatArray]]:
    """The four changes of colour with random strengths, in a random order."""
    factors = rng.uniform(1 - _STRENGTH, 1 + _STRENGTH, 3).tolist()
    changes = [
        partial(change, factor=factor)
        for change, factor in zip((brightened, contrasted, saturated), factors, strict=True)
    ]
    changes.append(partial(hue_turned, turn=rng.uniform(-_HUE, _HUE)))
    return [changes[i] for i in rng.permutation(len(changes))]


def greyed(pixels: ByteArray) -> ByteArray:
    """All three channels at the luma, (..., h, w, 3)."""
    return np.repeat(np.rint(grey(pixels)).astype(np.uint8)[..., None], 3, axis=-1)


# Pillow's ImageEnhance and its HSV round to bytes at every step (hues turn in steps of 1.4
# degrees); these work in floats, as torchvision's jitter of tensors does.


def brightened(x: FloatArray, factor: float) -> FloatArray:
    """Times `factor`; x: (h, w, 3) in 0..1, as for all below."""
    return _blended(x, np.float32(0), factor)


def contrasted(x: FloatArray, factor: float) -> FloatArray:
    """Away from the mean luma (factor above 1), or towards it."""
    return _blended(x, np.float32((x @ LUMA).mean()), factor)


def saturated(x: FloatArray, factor: float) -> FloatArray:
    """Away from the pixel's own luma (factor above 1), or towards it."""
    return _blended(x, (x @ LUMA)[..., None], factor)


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


def _blended(x: FloatArray, other: FloatArray | np.float32, factor: float) -> FloatArray:
    f = np.float32(factor)
    return np.clip(f * x + (1 - f) * other, 0, 1)


# --- clips ---


def clip_view(clip: Clip, rng: np.random.Generator) -> Clip:
    """One view, (t, 112, 112, 3), its frames all treated alike."""
    sigma = rng.uniform(*_SIGMA)
    to_grey = rng.random() < _GREY
    frames = np.rint(resize_frames(clip.frames, _SIDE, _SIDE) * 255).astype(np.uint8)
    frames = gaussian_blur(frames, _KERNEL, sigma)
    return Clip(greyed(frames) if to_grey else frames, clip.rate)


def two_instants(
    count: int, frames: int, step: int, rng: np.random.Generator
) -> tuple[Window, Window]:
    """Two windows of a video of `count` frames, at different times if it has room for two."""
    step = fitting_step(count, frames, step)
    places = count - span(frames, step) + 1
    first, second = rng.choice(places, 2, replace=False) if places > 1 else (0, 0)
    return Window(int(first), frames, step), Window(int(second), frames, step)
