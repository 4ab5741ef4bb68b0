"""`frame-stats`: a clip to 976 numbers that say where, when and in what colours it moves.

    x = n( n(a), n(c), n(m), n(h) ),   16 frames at 24x32, in cells of 6x8 and 4 quarters of time

    a  mean colour of a cell over the clip, less that of the clip             6*8*3     = 144
    c  mean colour of a cell in a quarter, less that over the clip            4*6*8*3   = 576
    m  square root of the mean change of grey between frames, per quarter     4*6*8     = 192
    h  square root of the share of pixels in each of 4*4*4 colours            4*4*4     =  64

Every part is L2-normalised, so each weighs a quarter, and then the whole. Scene and clothes are in
a and h, movements in c and m. The square roots keep one bright spot (one fast hand) from hiding
the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from withhold.media.decode.pictures import LUMA
from withhold.media.extractors.extractor import Extractor, Prepared, unit
from withhold.media.frames import frames_of, resize_frames
from withhold.records.samples import FloatArray, Sample

_ROWS, _COLUMNS, _QUARTERS, _LEVELS = 6, 8, 4, 4


class FrameStats(Extractor):
    """Colour and motion of a clip on a coarse grid."""

    name = "frame-stats"
    kind = "clip"
    takes = "16 frames, every other, resized to 24x32"
    source = "none: it is computed, not learned"
    licence = "none needed"
    batch = 64
    dimension = (3 + _QUARTERS * 3 + _QUARTERS) * _ROWS * _COLUMNS + _LEVELS**3

    def prepare(self, sample: Sample) -> Prepared:
        """Frames (16, 24, 32, 3) in 0..1."""
        frames = frames_of(sample, self.frames, self.step)
        return resize_frames(frames, 4 * _ROWS, 4 * _COLUMNS)

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Unit vectors (b, 976)."""
        return np.stack([_statistics(frames) for frames in prepared])


def _statistics(frames: FloatArray) -> FloatArray:
    """One clip, (16, 24, 32, 3) to (976,)."""
    cells = frames.reshape(len(frames), _ROWS, 4, _COLUMNS, 4, 3).mean(axis=(2, 4))
    quarters = cells.reshape(_QUARTERS, -1, _ROWS, _COLUMNS, 3).mean(axis=1)
    scene = quarters.mean(axis=0)
    # 16 frames have 15 changes; the first counts twice.
    change = np.abs(np.diff(frames @ LUMA, axis=0))
    change = np.concatenate([change[:1], change])
    motion = change.reshape(_QUARTERS, -1, _ROWS, 4, _COLUMNS, 4).mean(axis=(1, 3, 5))
    level = np.minimum((frames * _LEVELS).astype(np.int64), _LEVELS - 1)
    colour = np.bincount(
        (level @ np.array([_LEVELS**2, _LEVELS, 1])).reshape(-1), minlength=_LEVELS**3
    )
    parts = [
        scene - scene.mean(axis=(0, 1)),
        quarters - scene,
        np.sqrt(motion),
        np.sqrt(colour / colour.sum()),
    ]
    whole = np.concatenate([unit(part.reshape(1, -1)) for part in parts], axis=1)
    found: FloatArray = unit(whole)[0]
    return found
