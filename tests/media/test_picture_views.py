"""Views of a picture: each change by its known answers, and how often each is made."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

from withhold.media.picture_views import (
    brightened,
    contrasted,
    flip,
    grey,
    hue_turned,
    picture_view,
    saturated,
)
from withhold.records.samples import Picture

PIXELS = np.random.default_rng(0).integers(0, 256, (12, 9, 3), np.uint8)
X = PIXELS.astype(np.float32) / 255
CHANGES = (brightened, contrasted, saturated)


def test_a_flip_of_a_flip_is_the_picture() -> None:
    np.testing.assert_array_equal(flip(flip(PIXELS)), PIXELS)
    np.testing.assert_array_equal(flip(PIXELS)[:, 0], PIXELS[:, -1])


def test_grey_has_equal_channels_and_the_luminance() -> None:
    found = grey(PIXELS)
    assert (found == found[..., :1]).all()
    assert (grey(found) == found).all()
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    assert grey(colours)[0, :, 0].tolist() == [76, 150, 29, 255]


@pytest.mark.parametrize("change", CHANGES)
def test_a_factor_of_one_changes_nothing(change: object) -> None:
    np.testing.assert_allclose(change(X, 1.0), X, atol=1e-6)  # type: ignore[operator]


def test_a_factor_of_nought_takes_all() -> None:
    assert brightened(X, 0).max() == 0
    assert np.ptp(contrasted(X, 0)) == 0
    np.testing.assert_allclose(saturated(X, 0), grey(PIXELS) / np.float32(255), atol=0.003)


def test_hue_turns_as_the_standard_library_says() -> None:
    for turn in (-0.1, 0.03, 1 / 3):
        found = hue_turned(X, turn)
        for pixel, expected in zip(found.reshape(-1, 3), X.reshape(-1, 3), strict=True):
            h, s, v = colorsys.rgb_to_hsv(*map(float, expected))
            np.testing.assert_allclose(pixel, colorsys.hsv_to_rgb((h + turn) % 1, s, v), atol=1e-5)


def test_a_third_of_the_circle_passes_the_colours_on() -> None:
    np.testing.assert_allclose(hue_turned(X, 1 / 3), X[..., [2, 0, 1]], atol=1e-5)
    np.testing.assert_allclose(hue_turned(X, 0), X, atol=1e-6)
    ashen = np.full((2, 2, 3), 0.4, np.float32)
    np.testing.assert_allclose(hue_turned(ashen, 0.1), ashen, atol=1e-6)


def test_a_view_follows_its_generator_and_leaves_the_picture() -> None:
    before = PIXELS.copy()
    one, again, other = (
        picture_view(Picture(PIXELS), np.random.default_rng(s)).pixels for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(PIXELS, before)
    np.testing.assert_array_equal(one, again)
    assert one.shape == PIXELS.shape
    assert one.dtype == np.uint8
    assert (one != other).any()


def test_changes_are_made_as_often_as_the_paper_says() -> None:
    rng = np.random.default_rng(0)
    # Bright on the right; red enough that grey can be told from any jitter.
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, :3], pixels[:, 3:] = (90, 30, 30), (180, 60, 60)
    views = [picture_view(Picture(pixels), rng).pixels for _ in range(2000)]
    flipped = [view[0, 0].sum() > view[0, -1].sum() for view in views]
    greyed = [(view == view[..., :1]).all() for view in views]
    plain = [(np.sort(view, axis=1) == np.sort(pixels, axis=1)).all() for view in views]
    assert np.mean(flipped) == pytest.approx(0.5, abs=0.05)
    assert np.mean(greyed) == pytest.approx(0.2, abs=0.04)
    assert np.mean(plain) == pytest.approx(0.2 * 0.8, abs=0.04)
