"""The frames that a network gets: their number and their size."""

from __future__ import annotations

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.media.windows import centre_window
from withhold.records.samples import BadMedia, ByteArray, Clip, FloatArray, Sample


def resize_frames(frames: ByteArray, height: int, width: int) -> FloatArray:
    """Frames (t, h, w, 3) to (t, height, width, 3) in 0..1, bilinear with antialiasing.

    One frame at a time, so that the frames of a large video are not all in memory as floats.
    """
    out = np.empty((len(frames), height, width, 3), np.float32)
    with torch.inference_mode():
        for i, frame in enumerate(frames):
            planes = torch.from_numpy(frame.transpose(2, 0, 1).astype(np.float32, order="C"))
            if planes.shape[1:] != (height, width):
                planes = torch.nn.functional.interpolate(
                    planes[None], (height, width), mode="bilinear", antialias=True
                )[0]
            out[i] = planes.permute(1, 2, 0).numpy()
    out /= 255
    return np.clip(out, 0, 1, out=out)


def frames_of(sample: Sample, frames: int, step: int) -> ByteArray:
    """Exactly `frames` frames of a clip (t, h, w, 3), from its middle if it has more."""
    if not isinstance(sample, Clip):
        raise UserError(f"a clip is needed, not a {type(sample).__name__.lower()}")
    if 0 in sample.frames.shape[1:3]:
        raise BadMedia("its frames have no pixels")
    if len(sample.frames) == frames:
        return sample.frames
    window = centre_window(len(sample.frames), frames, step)
    found: ByteArray = sample.frames[np.asarray(window.numbers)]
    return found
