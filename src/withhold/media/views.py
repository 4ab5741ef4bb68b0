"""The two contrastive views of a clip of sound, made on the waveform (MaSS, Appendix B.1).

One view *crops out* a random stretch (coverage 0.4: the rest is joined), the other *masks* one with
zeros (coverage 0.5). Nothing that changes pitch, loudness or speed, which would teach the encoder
to ignore gender, accent and age.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


def crop_out(
    waves: FloatArray, lengths: IntArray, rng: np.random.Generator, *, coverage: float = 0.4
) -> tuple[FloatArray, IntArray]:
    """Remove one random stretch of `coverage` of each clip; waves: (b, t), lengths: (b,)."""
    removed = (lengths * coverage).astype(np.int64)
    start = (rng.random(len(lengths)) * (lengths - removed + 1)).astype(np.int64)
    kept = lengths - removed
    position = np.arange(int(kept.max(initial=1)))[None, :]
    # Behind the cut, read from `removed` samples later.
    source = position + np.where(position >= start[:, None], removed[:, None], 0)
    out = np.take_along_axis(waves, np.minimum(source, waves.shape[1] - 1), axis=1)
    out[position >= kept[:, None]] = 0
    return out, kept


def mask_out(
    waves: FloatArray, lengths: IntArray, rng: np.random.Generator, *, coverage: float = 0.5
) -> tuple[FloatArray, IntArray]:
    """Replace one random stretch of `coverage` of each clip by zeros; shapes stay."""
    masked = (lengths * coverage).astype(np.int64)
    start = (rng.random(len(lengths)) * (lengths - masked + 1)).astype(np.int64)
    position = np.arange(waves.shape[1])[None, :]
    hole = (position >= start[:, None]) & (position < (start + masked)[:, None])
    return np.where(hole, np.float32(0), waves), lengths
