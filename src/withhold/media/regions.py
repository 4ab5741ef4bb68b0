"""Where an image anonymiser acts: on all of it, on the faces or people in it, or on what moves.

    y[i, j] = changed[i, j] where the mask is true, else x[i, j]

A box is scaled about its centre to `area` times its area: MaSS (Table 5) removes 1, 0.36 and 0.09
of the box of a face. In a clip the boxes are found frame by frame and then joined to one track per
face or person, so that one that was missed in some frames is covered there too, and the change does
not flicker. What moves is found without a detector (`moving_mask`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.records.samples import BadMedia, ByteArray

Boxes = npt.NDArray[np.floating]  # (k, 5): x0, y0, x1, y1, score
Where = Literal["whole", "faces", "people", "moving"]
FOUND = {"faces": "face", "people": "person"}  # what a detector has to find
Missing = Literal["whole", "keep", "refuse"]
Mask = npt.NDArray[np.bool_]
Track = tuple[list[int], list[npt.NDArray[np.float64]]]  # frames, and the box in each


class Detector(Protocol):
    """Finds faces, or people."""

    def boxes(self, pixels: ByteArray) -> Boxes:
        """Boxes in an image (h, w, 3): (k, 5), x0, y0, x1, y1 in pixels, score."""


@dataclass(frozen=True, eq=False)
class Region:
    """`where` to act; on a box of `area` times the area of the one that was found.

    `missing` decides about an image (or a whole clip) in which nothing is found: "whole" changes
    all of it, since a face that was overlooked must not be released; "keep" leaves it as it is;
    "refuse" raises BadMedia, so that it is left out of the release and listed.
    """

    where: Where = "whole"
    area: float = 1.0
    missing: Missing = "whole"
    detector: Detector | None = None

    def __post_init__(self) -> None:
        if self.where in FOUND and self.detector is None:
            raise UserError(f"a region of {self.where} needs a {FOUND[self.where]} detector")
        if not self.area > 0:
            raise UserError(f"the area of a region must be above 0, not {self.area}")

    def masks(self, frames: ByteArray) -> Mask:
        """Where to act in frames (t, h, w, 3): (t, h, w). A still image is a clip of one frame."""
        shape = frames.shape[:3]
        if self.where == "whole":
            return np.ones(shape, np.bool_)
        masks = self._found(frames)
        if masks.any():
            return masks
        if self.missing == "refuse":
            raise BadMedia(
                "nothing moves in it" if self.where == "moving" else f"no {self._what} is found"
            )
        return np.full(shape, self.missing == "whole")

    def _found(self, frames: ByteArray) -> Mask:
        if self.detector is None:
            return np.broadcast_to(moving_mask(frames), frames.shape[:3])
        found = track_boxes([self.detector.boxes(frame) for frame in frames])
        size = (frames.shape[1], frames.shape[2])
        return np.stack([boxes_mask(size, boxes, self.area) for boxes in found])

    @property
    def _what(self) -> str:
        return FOUND[self.where]


def moving_mask(frames: ByteArray, *, least: int = 20) -> Mask:
    """Where frames (t, h, w, 3) change over time: (h, w), the same for every frame of the clip.

    A pixel moves if the mean of the 3 x 3 pixels about it, in one of the colours, changes by
    `least` levels or more. So does every pixel within a twentieth of the longer side of one that
    moves. If the camera moves, this is the whole frame.
    """
    from scipy.ndimage import maximum_filter, uniform_filter

    lowest = highest = np.empty(0)
    for t, frame in enumerate(frames):  # one by one: float copies of all of them would be large
        mean = uniform_filter(frame.astype(np.float32), size=(3, 3, 1), mode="nearest")
        lowest = mean if t == 0 else np.minimum(lowest, mean)
        highest = mean if t == 0 else np.maximum(highest, mean)
    moves = ((highest - lowest) >= least).any(axis=-1)
    reach = 2 * math.ceil(max(moves.shape) / 20) + 1
    grown: Mask = maximum_filter(moves, size=reach, mode="constant")
    return grown


def boxes_mask(shape: tuple[int, int], boxes: Boxes, area: float = 1.0) -> Mask:
    """Pixels of an image of `shape` (h, w) in any of the boxes (k, 4 or more) scaled to `area`.

    Every pixel that a box touches is in it, so no rim of it is left.
    """
    out = np.zeros(shape, np.bool_)
    for x0, y0, x1, y1 in np.asarray(boxes, np.float64)[:, :4]:
        left, right = _scaled(x0, x1, area, shape[1])
        top, bottom = _scaled(y0, y1, area, shape[0])
        out[top:bottom, left:right] = True
    return out


def apply_in(pixels: ByteArray, changed: ByteArray, mask: Mask) -> ByteArray:
    """`changed` (..., h, w, 3) where the mask (..., h, w) is true, else `pixels`."""
    return np.where(mask[..., None], changed, pixels)


def track_boxes(
    per_frame: Sequence[Boxes], *, overlap: float = 0.3, smooth: int = 5
) -> list[npt.NDArray[np.float64]]:
    """One box per face or person in every frame, from the boxes found in each frame, (k, 5).

    A box continues the track that it overlaps most: the track's last box, or that box moved on at
    the track's speed (intersection over union at least `overlap`, the best pairs first). Otherwise
    it begins a new track. Frames between are filled by linear interpolation, frames before and
    after with the first and last box, and the corners are smoothed by a running mean over `smooth`
    frames. One that jumps further than its size becomes two tracks, both of which last the whole
    clip: too much is covered rather than too little.
    """
    tracks: list[Track] = []
    for t, found in enumerate(per_frame):
        boxes = np.asarray(found, np.float64).reshape(-1, 5)
        last = np.array([seen[-1] for _, seen in tracks]).reshape(-1, 5)
        ahead = np.array([_moved_on(track, t) for track in tracks]).reshape(-1, 5)
        alike = np.maximum(box_overlaps(last, boxes), box_overlaps(ahead, boxes))
        free = set(range(len(boxes)))
        for pair in np.argsort(-alike, axis=None, kind="stable"):
            track, box = divmod(int(pair), len(boxes))
            if alike[track, box] < overlap:
                break
            # Skip the pair if either already has a better match in this frame.
            if box in free and tracks[track][0][-1] < t:
                free.remove(box)
                tracks[track][0].append(t)
                tracks[track][1].append(boxes[box])
        tracks += [([t], [boxes[box]]) for box in sorted(free)]
    frames = np.arange(len(per_frame))
    whole = np.empty((len(per_frame), len(tracks), 5))
    for i, (when, seen) in enumerate(tracks):
        values = np.array(seen)
        filled = np.stack([np.interp(frames, when, values[:, c]) for c in range(5)], axis=1)
        whole[:, i] = _running_mean(filled, smooth)
    return list(whole)


def box_overlaps(
    one: Boxes, other: Boxes, *, of_the_smaller: bool = False
) -> npt.NDArray[np.float64]:
    """Intersection over union of every two boxes: (n, 4 or more), (m, 4 or more) to (n, m).

    `of_the_smaller` divides by the smaller of the two areas instead of that of the union.
    """
    a, b = np.asarray(one, np.float64)[:, None, :4], np.asarray(other, np.float64)[None, :, :4]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    both = np.prod(np.maximum(sides, 0), axis=-1)
    size_a, size_b = (np.prod(np.maximum(v[..., 2:] - v[..., :2], 0), axis=-1) for v in (a, b))
    whole = np.minimum(size_a, size_b) if of_the_smaller else size_a + size_b - both
    shared: npt.NDArray[np.float64] = both / np.maximum(whole, 1e-12)
    return shared


def _moved_on(track: Track, frame: int) -> npt.NDArray[np.float64]:
    """Where a track is by `frame` if it keeps the speed of its last few boxes."""
    when, seen = track[0][-5:], track[1][-5:]
    if len(when) < 2:
        return seen[-1]
    speed = (seen[-1] - seen[0]) / (when[-1] - when[0])
    return seen[-1] + speed * (frame - when[-1])


def _running_mean(values: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """Mean over `width` neighbours, (t, c); near the ends over fewer, equally many on both sides.

    Symmetric windows leave a straight movement as it is.
    """
    t = np.arange(len(values))
    half = np.minimum(np.minimum(t, t[::-1]), width // 2)
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    means: npt.NDArray[np.float64] = (total[t + half + 1] - total[t - half]) / (2 * half + 1)[
        :, None
    ]
    return means


def _scaled(low: float, high: float, area: float, side: int) -> tuple[int, int]:
    """The pixels of low..high, scaled about the middle by sqrt(area), within 0 and `side`."""
    middle, half = (low + high) / 2, (high - low) / 2 * area**0.5
    # Rounding errors of the scaling must not touch one more pixel.
    first, stop = np.floor(round(middle - half, 6)), np.ceil(round(middle + half, 6))
    return int(np.clip(first, 0, side)), int(np.clip(stop, 0, side))
