"""A world of moving figures: clips with known attributes, and correlations that the caller sets.

A person is the proportions of a body. Action, pace, clothes, sleeves, hat, skin, build and
background are drawn separately. All attributes are independent and uniform unless shares or a
correlation are given, so how much one tells about another is known in closed form: `best_guess`.
A single frame tells nothing about action and pace; only the motion does (see `motion`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.attribute_set import Codes, Correlation, Shares
from withhold.datasets.worlds.drawn_world import (
    SplitBy,
    check_at_least,
    check_range,
    check_seed,
    check_split,
    draw_people,
    label_table,
)
from withhold.datasets.worlds.moving_figures.figure import ClipNuisance, draw_figures
from withhold.datasets.worlds.moving_figures.figure_attributes import FIGURES, VALUES, best_guess
from withhold.datasets.worlds.moving_figures.motion import draw_phases
from withhold.datasets.worlds.moving_figures.skeleton import PROPORTIONS, make_skeleton
from withhold.datasets.worlds.nuisance import Spread
from withhold.records.dataset import Dataset

__all__ = ["VALUES", "Correlation", "Shares", "best_guess", "moving_figures"]

BLOCK = 64  # clips whose random values are drawn together; another number would give other clips
CACHED = 64 * 32 * 32  # pixels that are drawn together; more would leave the processor's cache
_VARIATION, _GRAIN = 0.02, 0.02


def moving_figures(
    clips: int = 1000,
    *,
    people: int = 10,
    side: int = 32,
    frames: int = 8,
    correlation: Correlation | None = None,
    shares: Shares | None = None,
    split_by: SplitBy = "record",
    nuisance: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """Clips of `frames` x `side` x `side` pixels as a dataset, the same for a seed.

    Attributes: person, and those of `VALUES`. `correlation` sets the phi coefficient of pairs, e.g.
    {("build", "hat"): 0.8}; `shares` how often values occur, e.g. {"hat": {"yes": 0.1}}.
    `nuisance` scales the variation of light, background, place, proportions, pace and pixel noise;
    0 is none. Of five clips, or with `split_by="person"` of five people, three are train, one val
    and one test. A clip does not depend on how many there are, and with more frames it shows the
    same motion at more moments.
    """
    check_at_least("clips", clips, 1)
    check_at_least("people", people, 1)
    check_range("side", side, 32, 112, " pixels")
    check_range("frames", frames, 8, 32)
    check_split(split_by, people)
    check_range("nuisance", nuisance, 0, 2)
    check_seed(seed)
    attributes = FIGURES.distribution(correlation, shares)
    bodies = draw_people(PROPORTIONS, people, seed)
    pixels = np.empty((clips, frames, side, side, 3), np.uint8)
    drawn: dict[str, list[npt.NDArray[np.int64]]] = {}
    for start in range(0, clips, BLOCK):
        # Always a whole block, so that fewer clips are the same clips.
        rng = np.random.default_rng((3, start, seed))
        person = rng.integers(0, people, BLOCK)
        codes: Codes = {"person": person, **attributes.draw(BLOCK, rng)}
        spread = Spread(nuisance, rng)
        body = {
            name: values[person] * spread.around(1, _VARIATION, BLOCK)
            for name, values in bodies.items()
        }
        varied = ClipNuisance.draw(BLOCK, nuisance, rng)
        phases = draw_phases(codes, frames, nuisance, rng)
        together = max(1, CACHED // (frames * side * side))
        for first in range(0, min(BLOCK, clips - start), together):
            some = slice(first, min(first + together, BLOCK, clips - start))
            shape = {name: values[some] for name, values in body.items()}
            skeleton = make_skeleton(shape, phases[some])
            these = {name: values[some] for name, values in codes.items()}
            image = draw_figures(these, shape["head"], skeleton, varied.part(some), side)
            place = slice(start + some.start, start + some.stop)
            pixels[place] = _levels(image, _GRAIN * nuisance, place.start, seed)
        for name, values in codes.items():
            drawn.setdefault(name, []).append(values)
    codes = {name: np.concatenate(values)[:clips] for name, values in drawn.items()}
    labels = label_table(codes, VALUES, split_by)
    return Dataset.from_arrays(pixels, labels, name="moving figures")


def _levels(
    image: npt.NDArray[np.floating], grain: float, first: int, seed: int
) -> npt.NDArray[np.uint8]:
    """Pixels (3, b, t, h, w) about 0..1 with noise, as bytes (b, t, h, w, 3).

    The noise of a clip depends on its number and the seed only.
    """
    for place in range(image.shape[1] if grain else 0):
        rng = np.random.default_rng((4, first + place, seed))
        image[:, place] += np.float32(grain) * rng.standard_normal(
            image[:, place].shape, np.float32
        )
    levels = np.rint(np.clip(image, 0, 1) * np.float32(255)).astype(np.uint8)
    return np.ascontiguousarray(np.moveaxis(levels, 0, -1))
