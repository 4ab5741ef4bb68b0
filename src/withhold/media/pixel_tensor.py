"""Images of a dataset as one tensor, for a method that trains on pixels."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.media.cutting import decode
from withhold.records.dataset import Dataset
from withhold.records.samples import BadMedia, Picture


def pixel_tensor(data: Dataset, side: int, *, progress: Progress | None = None) -> torch.Tensor:
    """The images of `data`, each resized to `side` by `side` pixels: (n, 3, side, side) uint8.

    An image that cannot be decoded is an error: a fit must not silently leave out records.
    """
    if data.media is None or data.kind != "image":
        raise UserError(f"{data.name} holds {data.kind}, but the method needs images")
    pixels = torch.empty((len(data), 3, side, side), dtype=torch.uint8)
    with (progress or Silent()).stage(f"decoding {data.name}", len(data)) as bar:
        for place, item in enumerate(data.media.items()):
            try:
                if isinstance(item.content, BadMedia):
                    raise item.content
                sample = decode(item.content, "image")
            except BadMedia as error:
                raise UserError(
                    f"{item.name} of {data.name} cannot be used: {error}; remove it from the data"
                ) from error
            assert isinstance(sample, Picture)
            pixels[place] = torch.from_numpy(_resized(sample, side)).permute(2, 0, 1)
            bar.advance()
    return pixels


def _resized(picture: Picture, side: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    if picture.pixels.shape[:2] == (side, side):
        return np.array(picture.pixels)
    image = Image.fromarray(picture.pixels).resize((side, side), Image.Resampling.BILINEAR)
    return np.array(image)
