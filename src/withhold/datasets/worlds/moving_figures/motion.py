"""How a figure moves: one phase for each action, of which only that of its own action runs.

A pose is a function of eight phases, one for each action. In a clip, the phase of the action runs
through whole cycles, and the others stay where they are. All phases start uniformly at random, so
the pose in any one frame has the same distribution for all actions: a single frame tells nothing
about the action, and only the change between frames does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.attribute_set import Codes
from withhold.datasets.worlds.moving_figures.figure_attributes import VALUES

Floats = npt.NDArray[np.float64]

CYCLES = {"slow": 1.0, "fast": 2.0}  # in a clip, however many frames it has
_PACE_SPREAD = 0.12  # of the cycles, as a share
_SWAY = 0.12  # radians by which a phase that stays may sway


def draw_phases(codes: Codes, frames: int, nuisance: float, rng: np.random.Generator) -> Floats:
    """The phases in radians, (b, actions, frames).

    phase_a(t) = start_a + [a = action] 2 pi cycles t + sway_a(t), t from 0 to 1.
    """
    action = codes["action"]
    b, actions = len(action), len(VALUES["action"])
    # What is drawn does not depend on the number of frames.
    start, sway_start = rng.uniform(0, 2 * np.pi, (2, b, actions, 1))
    uneven, sway = rng.uniform(-1, 1, (2, b))
    direction = rng.choice([-1.0, 1.0], b)
    time = np.arange(frames) / frames
    cycles = np.array([CYCLES[pace] for pace in VALUES["pace"]])[codes["pace"]]
    cycles = direction * cycles * (1 + nuisance * _PACE_SPREAD * uneven)
    runs = action[:, None] == np.arange(actions)
    run = 2 * np.pi * (cycles[:, None] * runs)[..., None] * time
    size = nuisance * _SWAY * sway[:, None, None]
    return np.asarray(start + run + size * np.sin(2 * np.pi * time + sway_start))
