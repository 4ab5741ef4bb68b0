"""Clips of a dataset as one tensor, for networks that read frames.

A large tensor is a file of bytes that is mapped into memory: the system keeps the parts in memory
that are in use. The file has no name and vanishes with the tensor, or with a killed process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
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

MOST_BYTES = 4 * 2**30  # of a tensor that must be in memory
IN_MEMORY = 2**30  # bytes of a tensor that is in memory although it could be in a file


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
            return [int(i) for i in np.linspace(0, count - 1, self.frames).round()]
        reach = (self.frames - 1) * self.step + 1
        first = max((count - reach) // 2, 0)
        return [min(first + i * self.step, count - 1) for i in range(self.frames)]


def clip_tensor(
    data: Dataset,
    size: FrameSize,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Dataset, torch.Tensor]:
    """The clips of `data`, (n, t, 3, h, w) uint8.

    With a `folder`, a tensor of more than 1 GiB is a file there, and memory does not grow with the
    number of clips; without one, it is in memory. Clips that cannot be decoded are left out and
    named; the dataset returned has the others. One video is decoded at a time and reduced frame by
    frame, so that memory holds the small frames of one video beside the tensor.
    """
    if data.media is None or data.kind != "clip":
        raise UserError(f"{data.name} holds {data.kind}s, but the method learns from clips")
    pixels = _room(len(data), size, folder)
    progress = progress or Silent()
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


def _room(count: int, size: FrameSize, folder: Path | None) -> torch.Tensor:
    """An empty tensor for `count` clips, in memory or in a file."""
    shape = (count, *size.shape)
    needed = int(np.prod(shape))
    clips = f"{count:,} clips of {size.frames} frames with {size.height} x {size.width} pixels need"
    fewer = "use fewer clips, fewer frames, or a smaller height and width"
    if folder is None or needed <= IN_MEMORY:
        if needed > MOST_BYTES:
            raise UserError(
                f"{clips} {needed / 2**30:.1f} GiB of memory, and the limit is"
                f" {MOST_BYTES >> 30}; {fewer}"
            )
        return torch.empty(shape, dtype=torch.uint8)
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            # Writing to a mapped file on a full disk kills the process, so take its space now.
            if hasattr(os, "posix_fallocate"):  # macOS has none
                os.posix_fallocate(file.fileno(), 0, needed)
        except OSError as error:
            raise UserError(
                f"{clips} {needed / 2**30:.1f} GiB of disk in {folder}, which has"
                f" {shutil.disk_usage(folder).free / 2**30:.1f}; free some space, or {fewer}"
            ) from error
        return torch.from_numpy(np.memmap(file, np.uint8, "w+", shape=shape))


def small_frames(content: object, height: int, width: int) -> ByteArray:
    """All frames of a video at this size, (t, height, width, 3)."""
    assert isinstance(content, Path | bytes | Clip)  # what a collection of clips has
    found = [np.array(resized(f, height, width)) for f in each_frame(content)]
    if not found:
        raise BadMedia("it has no frames")
    return np.stack(found)
