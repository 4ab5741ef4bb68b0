"""A clip as small pixels, for attackers that read its frames and its motion.

A clip can reveal a class in each frame, in the motion between frames, in detail that a small frame
does not show, or in a few frames only. Attackers get something of each: frames from the whole clip
and consecutive frames from its middle, the detail of some, and the extremes over all frames.
"""

from __future__ import annotations

import numpy as np

from withhold.media.decode.pictures import resized
from withhold.media.image_detail import COLOURS, MAPS, detail
from withhold.records.samples import BadMedia, ByteArray

WINDOW = 8  # frames of a window
WINDOWS = 2  # one over the whole clip, one of consecutive frames
FRAMES = WINDOW * WINDOWS
DETAILED = 4  # frames of the first window whose detail is kept
EXTREMES = 2 * COLOURS  # the brightest and the darkest value of each pixel over all frames
CHANNELS = FRAMES * COLOURS + DETAILED * MAPS + EXTREMES


def clip_seen_small(frames: ByteArray, side: int) -> ByteArray:
    """(t, h, w, 3) to (CHANNELS, side, side): windows of frames, detail of some, and extremes."""
    if 0 in frames.shape[:3]:
        raise BadMedia("it has no frames, or its frames have no pixels")
    numbers = frame_numbers(len(frames))
    small = {n: resized(frames[n], side, side) for n in np.unique(numbers)}
    parts = [small[n] for n in numbers]
    detailed = numbers[: WINDOW : WINDOW // DETAILED]
    maps = [detail(frames[n], small[n]) for n in detailed]
    # The extremes need one pass over all frames, and show a mark that is in one of them.
    ends = [
        resized(np.ascontiguousarray(join(frames, axis=0)), side, side) for join in (np.max, np.min)
    ]
    return np.concatenate(
        [*(p.transpose(2, 0, 1) for p in parts), *maps, *(e.transpose(2, 0, 1) for e in ends)]
    )


def frame_numbers(count: int) -> list[int]:
    """The frames of both windows, of a clip of `count`; a short clip repeats frames.

    >>> frame_numbers(29)
    [0, 4, 8, 12, 16, 20, 24, 28, 10, 11, 12, 13, 14, 15, 16, 17]
    """
    over_all = np.linspace(0, count - 1, WINDOW).round().astype(int)
    first = max((count - WINDOW) // 2, 0)
    middle = np.minimum(first + np.arange(WINDOW), count - 1)
    return [int(n) for n in (*over_all, *middle)]


def are_clips(pixels: ByteArray) -> bool:
    """Whether pixels (n, channels, side, side) are those of clips."""
    return bool(pixels.shape[1] == CHANNELS)


def frames_of_clips(pixels: ByteArray) -> ByteArray:
    """(n, CHANNELS, side, side) to frames (n, FRAMES, 3, side, side)."""
    return _copied(pixels[:, : FRAMES * COLOURS], FRAMES)


def windows_of_clips(pixels: ByteArray) -> ByteArray:
    """(n, CHANNELS, side, side) to windows (n, WINDOWS, 3 * WINDOW, side, side)."""
    return _copied(pixels[:, : FRAMES * COLOURS], WINDOWS)


def detail_of_clips(pixels: ByteArray) -> ByteArray:
    """(n, CHANNELS, side, side) to (n, DETAILED, MAPS + EXTREMES, side, side)."""
    maps = _copied(pixels[:, FRAMES * COLOURS : CHANNELS - EXTREMES], DETAILED)
    ends = np.repeat(pixels[:, None, CHANNELS - EXTREMES :], DETAILED, axis=1)
    return np.concatenate([maps, ends], axis=2)


def _copied(pixels: ByteArray, parts: int) -> ByteArray:
    """(n, parts * c, side, side) to (n, parts, c, side, side), as an array of its own."""
    n, channels, *sides = pixels.shape
    return np.ascontiguousarray(pixels).reshape(n, parts, channels // parts, *sides)
