"""The person detector: OpenCV's histograms of oriented gradients (Dalal and Triggs, 2005).

Its weights are in the package opencv-python-headless, below version 5. It finds upright people who
are seen whole; it misses many who sit, lie or are cut off, for which `missing` of a region decides.
SPAct's baselines had a stronger detector.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from withhold.core.errors import UserError
from withhold.media.decode.pictures import sized_between
from withhold.media.regions import box_overlaps
from withhold.records.samples import ByteArray, FloatArray

_WINDOW = (64, 128)  # width and height of what is judged at once
_LEAST_SIDE = 192  # pixels: a person who fills half of a small picture must fill the window
_STRIDE, _PADDING, _SCALE = 8, 16, 1.05
_OVERLAP = 0.5  # above it, the less certain of two boxes is left out


class PersonDetector:
    """Finds people of about 100 pixels and more; may be used from several threads at once.

    A picture whose shorter side is under 192 pixels is enlarged first; one whose longer side is
    over `most_side` is reduced, which bounds time and memory.
    """

    def __init__(self, *, most_side: int = 1280, least_score: float = 0.0) -> None:
        self.most_side, self.least_score = most_side, least_score
        self._cv2 = _opencv()
        self._hog = self._cv2.HOGDescriptor()
        self._hog.setSVMDetector(self._cv2.HOGDescriptor_getDefaultPeopleDetector())

    def boxes(self, pixels: ByteArray) -> FloatArray:
        """People in a picture (h, w, 3): (k, 5), x0, y0, x1, y1, score; the most certain first.

        Boxes are in pixels of the picture as given, and inside it.
        """
        height, width = pixels.shape[:2]
        sized = sized_between(pixels, least=_LEAST_SIDE, most=self.most_side)
        if sized.shape[0] + 2 * _PADDING < _WINDOW[1] or sized.shape[1] + 2 * _PADDING < _WINDOW[0]:
            return np.empty((0, 5), np.float32)
        grey = self._cv2.cvtColor(np.ascontiguousarray(sized), self._cv2.COLOR_RGB2GRAY)
        corners, scores = self._hog.detectMultiScale(
            grey, self.least_score, (_STRIDE, _STRIDE), (_PADDING, _PADDING), _SCALE, 0
        )
        if not len(corners):
            return np.empty((0, 5), np.float32)
        found = np.concatenate([corners, np.reshape(scores, (-1, 1))], axis=1).astype(np.float64)
        found[:, 2:4] += found[:, :2]
        # OpenCV's threads add boxes in any order.
        found = found[np.lexsort((*found[:, :4].T, -found[:, 4]))]
        found = _distinct(found)
        scale = [width / sized.shape[1], height / sized.shape[0]] * 2
        found[:, :4] = np.clip(found[:, :4] * scale, 0, [width, height] * 2)
        boxes: FloatArray = found.astype(np.float32)
        return boxes


def _distinct(boxes: Any) -> Any:
    """The boxes (k, 5) that overlap no more certain one much; ordered by certainty."""
    stay: list[int] = []
    for i in range(len(boxes)):
        if not stay or box_overlaps(boxes[[i]], boxes[stay]).max() <= _OVERLAP:
            stay.append(i)
    return boxes[stay]


def _opencv() -> Any:
    how = 'pip install "withhold[person]" -c constraints.txt'
    try:
        cv2 = import_module("cv2")
    except (ImportError, OSError) as error:
        raise UserError(
            f"finding people needs the package opencv-python-headless, below 5: {how}"
        ) from error
    if not hasattr(cv2, "HOGDescriptor_getDefaultPeopleDetector"):
        raise UserError(
            f"opencv {cv2.__version__} has no people detector; install one below 5: {how}"
        )
    return cv2
