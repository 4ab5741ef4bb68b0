"""Small images beside the features that were made of them, for attackers that read pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.media.image_detail import COLOURS, MAPS, seen_small
from withhold.media.pixel_tensor import image_tensor
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection, Selection

SIDE = 32  # pixels
STEP = 8  # networks halve images three times


def check_side(side: int) -> None:
    """Refuse a side that networks cannot halve three times."""
    if side < 0 or side % STEP:
        raise UserError(f"pixels={side}: the side of images must be a multiple of {STEP}, or 0")


def with_pixels(
    features: Dataset,
    media: Collection,
    places: npt.NDArray[np.int64],
    side: int,
    *,
    progress: Progress,
) -> Dataset:
    """Features of the items `places` of a collection, with these items as images.

    Each image becomes `side` by `side` pixels, with maps of the detail that this loses. Frames of
    clips are not attacked as pixels, so features of clips, and of all other media, are returned as
    they are. So is everything if the side is 0.
    """
    if side == 0:
        return features
    if media.kind != "image":
        if media.kind == "clip":
            progress.say("frames of clips are not attacked as pixels, only through their features")
        return features
    if len(places) != len(features):  # a row must stay the record that it is
        raise UserError(
            f"{features.name} has {len(features):,} records, and {len(places):,} images of"
            f" {media.name} belong to them; extract it again"
        )
    images = Dataset.of_media(Selection.of(media, places))
    shape = (COLOURS + MAPS, side, side)
    kept, pixels = image_tensor(images, shape, lambda x: seen_small(x, side), progress)
    if len(kept) != len(images):  # a row must stay the record that it is
        raise UserError(f"images of {media.name} that gave features can no longer be decoded")
    return replace(features, pixels=pixels.numpy())
