"""The joints of a figure from the proportions of a person and the phases of its motion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.moving_figures.figure_attributes import VALUES

Floats = npt.NDArray[np.float64]
# x runs to the right and y down, in half widths of the picture.
Point = tuple[Floats, Floats]

# Least and greatest value of each proportion of a person.
PROPORTIONS: dict[str, tuple[float, float]] = {
    "leg": (0.46, 0.74),
    "torso": (0.34, 0.54),
    "upper_arm": (0.16, 0.29),
    "forearm": (0.15, 0.27),
    "shoulder": (0.11, 0.21),  # half of the width
    "hip": (0.06, 0.12),  # half of the width
    "head": (0.10, 0.18),  # radius
    "neck": (0.03, 0.08),
}
FEET = 0.88  # y of the feet of a figure that stands
LIFT, CROUCH, WALK = 0.24, 0.42, 0.27  # greatest height of a jump, share of the leg, way to a side
STRIDE = 0.09
ARM = (math.radians(15), math.radians(125))  # of the upper arm from hanging down, outwards
ELBOW = (math.radians(5), math.radians(110))
TURN = (0.0, math.radians(68))  # to one side only: both look alike from the front
LEAN = math.radians(20)


@dataclass(frozen=True)
class Limb:
    """Two bones: from `start` over `middle` to `end`; coordinates (b, frames)."""

    start: Point
    middle: Point
    end: Point


@dataclass(frozen=True)
class Skeleton:
    """The joints of b figures in all frames. Left is the figure's own: right in the picture."""

    hips: Point  # middle of both
    shoulders: Point
    head: Point
    left_arm: Limb
    right_arm: Limb
    left_leg: Limb
    right_leg: Limb
    turn: Floats  # angle by which the body is turned, (b, frames); 0 looks at the viewer


def make_skeleton(proportions: Mapping[str, Floats], phases: Floats) -> Skeleton:
    """The joints for phases (b, actions, frames) and proportions of (b,) each.

    Every action moves one part: an arm, both forearms, the height, the knees, the place, the
    direction, or the tilt of the upper body.
    """
    m = {name: values[:, None].astype(np.float64) for name, values in proportions.items()}
    phase = {name: phases[:, i] for i, name in enumerate(VALUES["action"])}
    turn = _between(*TURN, phase["turn"])
    narrow = np.cos(turn)  # what points sideways looks shorter in a body that is turned
    lean = LEAN * np.sin(phase["lean"])
    # Uniform between both sides, at a steady pace.
    centre = WALK * 2 / np.pi * np.arcsin(np.sin(phase["walk"]))
    stride = STRIDE * np.sin(2 * phase["walk"])
    ground = FEET - LIFT * _between(0, 1, phase["jump"])

    feet = [(side, side * (m["hip"] + 0.03) * narrow + side * stride) for side in (1, -1)]
    sideways = np.maximum(*(np.abs(x - side * m["hip"] * narrow) for side, x in feet))
    reach = m["leg"] * (0.985 - CROUCH * _between(0, 1, phase["squat"]))
    hips = (centre, ground - np.sqrt(reach**2 - sideways**2))
    legs = [
        _leg((hips[0] + side * m["hip"] * narrow, hips[1]), (centre + x, ground), m["leg"], side)
        for side, x in feet
    ]

    shoulders = (hips[0] + m["torso"] * np.sin(lean), hips[1] - m["torso"] * np.cos(lean))
    above = m["neck"] + m["head"]
    head = (shoulders[0] + above * np.sin(lean), shoulders[1] - above * np.cos(lean))
    elbow = _between(*ELBOW, phase["clap"])
    arms = []
    for side, name in ((1, "wave_left"), (-1, "wave_right")):
        start = (
            shoulders[0] + side * m["shoulder"] * narrow * np.cos(lean),
            shoulders[1] + side * m["shoulder"] * narrow * np.sin(lean),
        )
        angle = _between(*ARM, phase[name])
        middle = _along(start, m["upper_arm"], angle, side, lean, narrow)
        # The forearm bends inwards, so that both hands meet before the body.
        end = _along(middle, m["forearm"], angle - elbow, side, lean, narrow)
        arms.append(Limb(start, middle, end))
    return Skeleton(hips, shoulders, head, arms[0], arms[1], legs[0], legs[1], turn)


def _between(least: float, most: float, phase: Floats) -> Floats:
    """A swing between two values."""
    return np.asarray((least + most) / 2 + (most - least) / 2 * np.sin(phase))


def _along(
    start: Point, length: Floats, angle: Floats, side: int, lean: Floats, narrow: Floats
) -> Point:
    """The end of a bone at an angle from hanging down, on one side of a body that leans."""
    out, down = side * length * narrow * np.sin(angle), length * np.cos(angle)
    return (
        start[0] + out * np.cos(lean) - down * np.sin(lean),
        start[1] + out * np.sin(lean) + down * np.cos(lean),
    )


def _leg(hip: Point, foot: Point, length: Floats, side: int) -> Limb:
    """Two bones of half the length; the knee lies where they meet, on the outer side."""
    along = (foot[0] - hip[0], foot[1] - hip[1])
    distance = np.hypot(*along)
    bend = side * np.sqrt(np.maximum((length / 2) ** 2 - (distance / 2) ** 2, 0)) / distance
    middle = ((hip[0] + foot[0]) / 2, (hip[1] + foot[1]) / 2)
    knee = (middle[0] + bend * along[1], middle[1] - bend * along[0])
    return Limb(hip, knee, foot)
