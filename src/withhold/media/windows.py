"""Windows: the frames of a video that make one clip.

A window is `frames` frames, every `step`th: first, first + step, …, first + (frames - 1) step.
A video too short for that gets the widest step that fits. With fewer frames than a window, it
cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from withhold.records.samples import BadMedia


@dataclass(frozen=True)
class Window:
    """Some frames of a video, by number from 0."""

    first: int
    frames: int = 16
    step: int = 2

    def __post_init__(self) -> None:
        if self.first < 0 or self.frames < 1 or self.step < 1:
            raise ValueError(f"no frames make up {self}")

    @property
    def numbers(self) -> range:
        """The frames it is made of."""
        return range(self.first, self.last + 1, self.step)

    @property
    def last(self) -> int:
        """Its last frame."""
        return self.first + (self.frames - 1) * self.step

    @property
    def centre(self) -> int:
        """The frame of the video in its middle, whose labels are the window's."""
        return (self.first + self.last) // 2


def span(frames: int, step: int) -> int:
    """Frames of the video that a window reaches over.

    >>> span(16, 2)
    31
    """
    return (frames - 1) * step + 1


def fitting_step(count: int, frames: int, step: int) -> int:
    """`step`, or the widest that fits into `count` frames; raises BadMedia where none does."""
    if count < frames:
        raise BadMedia(f"{count} frame{'' if count == 1 else 's'}, {frames} are needed")
    return min(step, max((count - 1) // max(frames - 1, 1), 1))


def centre_window(count: int, frames: int = 16, step: int = 2) -> Window:
    """The window in the middle of a video of `count` frames."""
    step = fitting_step(count, frames, step)
    return Window((count - span(frames, step)) // 2, frames, step)


def equidistant_windows(count: int, n: int = 10, frames: int = 16, step: int = 2) -> list[Window]:
    """`n` windows at equal distances, the first at the start and the last at the end of the video.

    Predictions are averaged over them (SPAct, section 4.2). In a short video they overlap or are
    even the same. A single window is the one in the middle.
    """
    if n == 1:
        return [centre_window(count, frames, step)]
    step = fitting_step(count, frames, step)
    starts = np.linspace(0, count - span(frames, step), n).round().astype(int)
    return [Window(int(first), frames, step) for first in starts]
