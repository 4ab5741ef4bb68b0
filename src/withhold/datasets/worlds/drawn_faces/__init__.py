"""A world of drawn faces: images with known attributes, and correlations that the caller sets.

A person is the shape of a face. Gender shows in jaw, brows and lashes; lipstick, beard, smile,
glasses, hair, skin and pose are drawn separately. All attributes are independent and uniform unless
a correlation is given, so how much one tells about another is known in closed form: `best_guess`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.datasets.worlds.attribute_set import Correlation
from withhold.datasets.worlds.drawn_faces.face_attributes import FACES, VALUES, best_guess
from withhold.datasets.worlds.drawn_faces.face_people import faces_of
from withhold.datasets.worlds.drawn_faces.portrait import Nuisance, draw_portraits
from withhold.datasets.worlds.drawn_world import (
    check_at_least,
    check_range,
    check_seed,
    label_table,
)
from withhold.records.dataset import Dataset

__all__ = ["VALUES", "Correlation", "best_guess", "drawn_faces"]

BLOCK = 64  # images that are drawn together; more would leave the processor's cache


def drawn_faces(
    n: int = 2000,
    *,
    people: int = 20,
    side: int = 32,
    correlation: Correlation | None = None,
    nuisance: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """n images of `side` x `side` pixels as a dataset, the same for a seed.

    Attributes: person, and those of `VALUES`. `correlation` sets the phi coefficient of pairs, e.g.
    {("gender", "lipstick"): 0.8}. `nuisance` scales the variation of light, background, place and
    pixel noise; 0 is none. Of five images, three are train, one val and one test. An image does
    not depend on n.
    """
    _check(n, people, side, nuisance, seed)
    attributes = FACES.distribution(correlation)
    shapes = faces_of(people, seed)
    images = np.empty((n, side, side, 3), np.uint8)
    drawn: dict[str, list[npt.NDArray[np.int64]]] = {}
    for start in range(0, n, BLOCK):
        # Always a whole block, so that a smaller n gives the same images.
        rng = np.random.default_rng((1, start, seed))
        person = rng.integers(0, people, BLOCK)
        codes = attributes.draw(BLOCK, rng)
        shape = {name: values[person] for name, values in shapes.items()}
        block = draw_portraits(codes, shape, Nuisance.draw(BLOCK, nuisance, rng), side, rng)
        images[start : start + BLOCK] = block[: n - start]
        for name, values in {"person": person, **codes}.items():
            drawn.setdefault(name, []).append(values)
    codes = {name: np.concatenate(values)[:n] for name, values in drawn.items()}
    return Dataset.from_arrays(images, label_table(codes, VALUES), name="drawn faces")


def _check(n: int, people: int, side: int, nuisance: float, seed: int) -> None:
    check_at_least("n", n, 1)
    check_at_least("people", people, 1)
    check_range("side", side, 32, 128, " pixels")
    check_range("nuisance", nuisance, 0, 2)
    check_seed(seed)
