"""The two contrastive views of a clip of sound, made on the waveform (MaSS, Appendix B.1).

One view *crops out* a random stretch (coverage 0.4: the rest is joined), the other *masks* one with
zeros (coverage 0.5). Nothing that changes pitch, loudness or speed, which would teach the encoder
to ignore gender, accent and age.
"""

from __future__ import annotations

import numpy as np

from withhold.records.samples import Sound


def crop_out(sound: Sound, rng: np.random.Generator, *, coverage: float = 0.4) -> Sound:
    """Remove one random stretch of `coverage` of the clip, (t,) to about (t - coverage t,)."""
    first, last = _stretch(len(sound.samples), coverage, rng)
    return Sound(np.delete(sound.samples, slice(first, last)), sound.rate)


def mask_out(sound: Sound, rng: np.random.Generator, *, coverage: float = 0.5) -> Sound:
    """Replace one random stretch of `coverage` of the clip by zeros; as long as before."""
    first, last = _stretch(len(sound.samples), coverage, rng)
    samples = sound.samples.copy()
    samples[first:last] = 0
    return Sound(samples, sound.rate)


def _stretch(length: int, coverage: float, rng: np.random.Generator) -> tuple[int, int]:
    """Where a stretch begins and ends; each place is as likely as any other."""
    size = int(length * coverage)
    first = int(rng.integers(length - size + 1))
    return first, first + size
