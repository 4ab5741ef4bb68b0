"""Clips of a dataset as one tensor, for networks that read frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress, Silent
from withhold.media.decode.clips import each_frame
from withhold.media.decode.pictures import resized
from withhold.records.dataset import Dataset
from withhold.records.samples import BadMedia, ByteArray, Clip

MOST_BYTES = 4 * 2**30  # of the tensor


@dataclass(frozen=True)
class FrameSize:
    """How many frames of a clip are used, which, and their size in pixels.

    `step` None spreads them evenly over the clip; a number takes every `step`th from the middle.
    """

    frames: int
    height: int
    width: int
    step: int | None = None

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of one clip: (t, 3, h, w)."""
        return self.frames, 3, self.height, self.width

    def numbers(self, count: int) -> list[int]:
        """The frames that are used of `count`; a clip that is too short repeats its last one."""
        if self.step is None:
            if count < self.frames:
                return [*range(count), *[count - 1] * (self.frames - count)]
            return np.linspace(0, count - 1, self.frames).round().astype(int).tolist()
        reach = (self.frames - 1) * self.step + 1
        first = max((count - reach) // 2, 0)
        return [min(first + i * self.step, count - 1) for i in range(self.frames)]


def clip_tensor(
    data: Dataset, size: FrameSize, *, progress: Progress | None = None
) -> tuple[Dataset, torch.Tensor]:
    """The clips of `data`, (n, t, 3, h, w) uint8.

    Clips that cannot be decoded are left out and named; the dataset returned has the others. One
    video is decoded at a time and reduced frame by frame, so that memory holds the tensor and the
    small frames of one video.
    """
    if data.media is None or data.kind != "clip":
        raise UserError(f"{data.name} holds {data.kind}s, but the method learns from clips")
    needed = len(data) * int(np.prod(size.shape))
    if needed > MOST_BYTES:
        raise UserError(
            f"{len(data):,} clips of {size.frames} frames with {size.height} x {size.width} pixels"
            f" need {needed / 2**30:.1f} GiB of memory, and the limit is {MOST_BYTES >> 30}; use"
            " fewer clips, fewer frames, or a smaller height and width"
        )
    progress = progress or Silent()
    pixels = torch.empty((len(data), *size.shape), dtype=torch.uint8)
    good: list[int] = []
    bad: list[str] = []
    short: list[str] = []
    with progress.stage(f"decoding {data.name}", len(data)) as bar:
        for place, item in enumerate(data.media.items()):
            try:
                if isinstance(item.content, BadMedia):
                    raise item.content
                small = small_frames(item.content, size.height, size.width)
            except BadMedia as error:
                bad.append(f"{item.name}: {error}")
            else:
                used = size.numbers(len(small))
                if len(set(used)) < size.frames:
                    short.append(f"{item.name} ({len(small)})")
                chosen = small[np.array(used)].transpose(0, 3, 1, 2)
                pixels[len(good)] = torch.from_numpy(np.ascontiguousarray(chosen))
                good.append(place)
            bar.advance()
    if short:
        progress.say(
            f"warning: {len(short):,} of {len(data):,} clips have too few frames for the"
            f" {size.frames} that are set, so their last frame is repeated: {listing(short)}"
        )
    if not bad:
        return data, pixels
    if not good:
        raise UserError(f"no clip of {data.name} can be decoded: {bad[0]}")
    progress.say(
        f"warning: {len(bad):,} of {len(data):,} clips cannot be used and are left out of the"
        f" training: {listing(bad)}"
    )
    return data.rows(np.array(good)), pixels[: len(good)]


def small_frames(content: object, height: int, width: int) -> ByteArray:
    """All frames of a video at this size, (t, height, width, 3)."""
    assert isinstance(content, Path | bytes | Clip)  # what a collection of clips has
    found = [np.array(resized(f, height, width)) for f in each_frame(content)]
    if not found:
        raise BadMedia("it has no frames")
    return np.stack(found)
