"""Maps of what a reduced picture does not show."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.media.image_detail import COLOURS, MAPS, detail, seen_small

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [(32, 32), (64, 48), (9, 20), (301, 40)])
def test_every_size_gives_the_same_shape(size: tuple[int, int]) -> None:
    seen = seen_small(RNG.integers(0, 256, (*size, 3), np.uint8), 16)
    assert seen.shape == (COLOURS + MAPS, 16, 16)
    assert seen.dtype == np.uint8


def test_a_flat_picture_has_no_detail() -> None:
    seen = seen_small(np.full((64, 64, 3), 100, np.uint8), 16)
    assert (seen[: COLOURS + 3] == 100).all()  # the picture and its middle
    assert (seen[COLOURS + 3 : COLOURS + 6] == 0).all()  # no strength
    assert (seen[COLOURS + 6 : COLOURS + 9] == 128).all()  # no turns
    assert (seen[COLOURS + 9 :] == 0).all()  # no difference; 100 has neither of the two bits


def test_known_answers_of_a_checkerboard() -> None:
    """+-20 around 101 in green: strength 20, turns 80, the largest difference 20, an odd value."""
    turns = (np.arange(32)[:, None] + np.arange(32)) % 2 * 2 - 1
    picture = np.full((32, 32, 3), 101, np.int64)
    picture[..., 1] += 20 * turns
    small = np.full((8, 8, 3), 101, np.uint8)
    found = detail(picture.astype(np.uint8), small)
    assert (found[4] == round(255 * np.log(21) / np.log(256))).all()
    assert (found[3] == 0).all()
    assert (found[7] == 128 + 80).all()
    assert (found[9] == 20).all()
    assert (found[10] == 255).all()
