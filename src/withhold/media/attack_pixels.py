"""Small images and clips beside their features, for attackers that read pixels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.media.clip_pixels import CHANNELS, clip_seen_small
from withhold.media.image_detail import COLOURS, MAPS, seen_small
from withhold.media.pixel_tensor import image_tensor
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection, Selection

SIDE = 32  # pixels
ATTACKED = ("image", "clip")  # media that are attacked as pixels
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
    """Features of the items `places` of a collection, with these items as small pixels.

    Each image becomes `side` by `side` pixels, with maps of the detail that this loses. Each clip
    becomes some of its frames, as small, with the detail of a few (`clip_pixels`). Features of
    other media are returned as they are. So is everything if the side is 0.
    """
    if side == 0 or media.kind not in ATTACKED:
        return features
    if len(places) != len(features):  # a row must stay the record that it is
        raise UserError(
            f"{features.name} has {len(features):,} records, and {len(places):,} {media.kind}s of"
            f" {media.name} belong to them; extract it again"
        )
    items = Dataset.of_media(Selection.of(media, places))
    if media.kind == "clip":
        shape, see = (CHANNELS, side, side), partial(clip_seen_small, side=side)
        kept, pixels = image_tensor(items, shape, see, progress, kind="clip")
    else:
        shape, see = (COLOURS + MAPS, side, side), partial(seen_small, side=side)
        kept, pixels = image_tensor(items, shape, see, progress)
    if len(kept) != len(items):  # a row must stay the record that it is
        raise UserError(
            f"{media.kind}s of {media.name} that gave features can no longer be decoded"
        )
    return replace(features, pixels=pixels.numpy())
