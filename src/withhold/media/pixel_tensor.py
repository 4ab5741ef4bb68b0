"""Images or clips of a dataset as one tensor, for networks that read pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch

from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress, Silent
from withhold.media.cutting import decode
from withhold.media.decode.pictures import resized
from withhold.records.dataset import Dataset
from withhold.records.samples import BadMedia, ByteArray, Clip, Picture


def pixel_tensor(
    data: Dataset, side: int, *, progress: Progress | None = None
) -> tuple[Dataset, torch.Tensor]:
    """The images of `data`, each resized to `side` by `side` pixels: (n, 3, side, side) uint8.

    Images that cannot be used are left out and named; the dataset returned has the others.
    """
    return image_tensor(
        data, (3, side, side), lambda x: resized(x, side, side).transpose(2, 0, 1), progress
    )


def image_tensor(
    data: Dataset,
    shape: tuple[int, int, int],
    see: Callable[[ByteArray], ByteArray],
    progress: Progress | None,
    *,
    kind: Literal["image", "clip"] = "image",
) -> tuple[Dataset, torch.Tensor]:
    """What `see` makes of each image (h, w, 3) or clip (t, h, w, 3), of this shape.

    (n, channels, side, side) uint8.
    """
    if data.media is None or data.kind != kind:
        raise UserError(f"{data.name} holds {data.kind}, but the method needs {kind}s")
    progress = progress or Silent()
    pixels = torch.empty((len(data), *shape), dtype=torch.uint8)
    good: list[int] = []
    bad: list[str] = []
    with progress.stage(f"decoding {data.name}", len(data)) as bar:
        for place, item in enumerate(data.media.items()):
            try:
                if isinstance(item.content, BadMedia):
                    raise item.content
                sample = decode(item.content, kind)
                assert isinstance(sample, Picture | Clip)
                content = sample.pixels if isinstance(sample, Picture) else sample.frames
                seen = torch.from_numpy(np.array(see(content)))
            except BadMedia as error:
                bad.append(f"{item.name}: {error}")
            else:
                pixels[len(good)] = seen
                good.append(place)
            bar.advance()
    if not bad:
        return data, pixels
    if not good:
        raise UserError(f"no {kind} of {data.name} can be decoded: {bad[0]}")
    progress.say(
        f"warning: {len(bad):,} of {len(data):,} {kind}s cannot be used and are left out of the"
        f" training: {listing(bad)}"
    )
    return data.rows(np.array(good)), pixels[: len(good)]
