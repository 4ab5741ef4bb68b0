"""The contrastive views of a video (MaSS, Appendix B.1): two time instants of it, each augmented.

Resized to 112x112, blurred, and made grey with probability 0.2; what is drawn, is drawn once for
all frames of a clip. The blur is SimCLR's: a kernel of a tenth of the side, sigma U(0.1, 2).
"""

from __future__ import annotations

import numpy as np

from withhold.media.filters import gaussian_blur
from withhold.media.frames import resize_frames
from withhold.media.picture_views import GREY, grey
from withhold.media.windows import Window, fitting_step, span
from withhold.records.samples import Clip

_SIDE, _KERNEL = 112, 11
_SIGMA = (0.1, 2.0)


def clip_view(clip: Clip, rng: np.random.Generator) -> Clip:
    """One view, (t, 112, 112, 3), its frames all treated alike."""
    sigma = rng.uniform(*_SIGMA)
    to_grey = rng.random() < GREY
    frames = np.rint(resize_frames(clip.frames, _SIDE, _SIDE) * 255).astype(np.uint8)
    frames = gaussian_blur(frames, _KERNEL, sigma)
    return Clip(grey(frames) if to_grey else frames, clip.rate)


def two_instants(
    count: int, frames: int, step: int, rng: np.random.Generator
) -> tuple[Window, Window]:
    """Two windows of a video of `count` frames, at different times where it has room for two."""
    step = fitting_step(count, frames, step)
    places = count - span(frames, step) + 1
    first, second = rng.choice(places, 2, replace=False) if places > 1 else (0, 0)
    return Window(int(first), frames, step), Window(int(second), frames, step)
