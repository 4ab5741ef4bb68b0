"""People of drawn faces: the shape of a face, fixed for each person."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.drawn_world import draw_people

Floats = npt.NDArray[np.float32]
# Least and greatest value of each measure, in half widths of the picture.
MEASURES: dict[str, tuple[float, float]] = {
    "width": (0.44, 0.56),  # half of the face's
    "height": (0.60, 0.72),
    "chin": (0.10, 0.34),  # how much narrower the face is at the chin
    "eye_distance": (0.17, 0.26),  # from the middle to an eye
    "eye_width": (0.085, 0.125),
    "eye_height": (0.050, 0.085),
    "eye_level": (-0.10, 0.02),
    "brow_gap": (0.12, 0.19),  # above the eye
    "brow_slope": (-0.05, 0.02),  # how much higher its outer end is
    "nose_length": (0.16, 0.30),
    "nose_width": (0.05, 0.11),
    "mouth_width": (0.16, 0.25),
    "mouth_level": (0.38, 0.46),
    "ear": (0.07, 0.13),
    "forehead": (0.40, 0.54),  # how far the hairline is above the middle
    "iris": (0.0, 1.0),  # from brown to blue
}


def faces_of(people: int, seed: int) -> dict[str, Floats]:
    """The measures of every person, (people,) each; the same for a number and a seed."""
    return draw_people(MEASURES, people, seed)
