"""Augmentations: each change by its known answers, and how often each is made."""

from __future__ import annotations

import colorsys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.media.augmentations import (
    brightened,
    clip_view,
    contrasted,
    crop_out,
    greyed,
    hue_turned,
    mask_out,
    picture_view,
    saturated,
    two_instants,
)
from withhold.records.samples import BadMedia, Clip, FloatArray, Picture, Sound

LENGTH = st.integers(1, 60)
COVERAGE = st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.9])
PIXELS = np.random.default_rng(0).integers(0, 256, (12, 9, 3), np.uint8)
X = PIXELS.astype(np.float32) / 255
CHANGES = (brightened, contrasted, saturated)
PICTURE = np.random.default_rng(0).integers(0, 256, (40, 56, 3), np.uint8)

# --- sound ---


def ramp(length):
    """A wave whose samples are 1, 2, 3 …: every sample tells where it was."""
    return Sound(np.arange(1, length + 1, dtype=np.float32), 8000)


@given(length=LENGTH, coverage=COVERAGE, seed=st.integers(0, 99))
def test_cropping_removes_one_stretch_of_the_share_and_keeps_the_order(length, coverage, seed):
    sound = ramp(length)
    out = crop_out(sound, np.random.default_rng(seed), coverage=coverage)
    assert np.array_equal(sound.samples, ramp(length).samples)
    assert (out.samples.dtype, out.rate) == (np.float32, 8000)
    assert len(out.samples) == length - int(length * coverage)
    gone = np.setdiff1d(sound.samples, out.samples)
    assert len(gone) == int(length * coverage)
    assert (np.diff(out.samples) > 0).all()
    assert (np.diff(gone) == 1).all()  # one stretch


@given(length=LENGTH, coverage=COVERAGE, seed=st.integers(0, 99))
def test_masking_zeroes_one_stretch_of_the_share_and_nothing_else(length, coverage, seed):
    sound = ramp(length)
    out = mask_out(sound, np.random.default_rng(seed), coverage=coverage).samples
    assert np.array_equal(sound.samples, ramp(length).samples)
    assert out.dtype == np.float32
    assert len(out) == length
    hole = np.flatnonzero(out == 0)
    assert len(hole) == int(length * coverage)
    assert (np.diff(hole) == 1).all()
    assert np.array_equal(out[out != 0], sound.samples[out != 0])


@pytest.mark.parametrize(("view", "share"), [(crop_out, 0.4), (mask_out, 0.5)])
def test_the_papers_coverage_is_the_default(view, share):
    out = view(ramp(1000), np.random.default_rng(0)).samples
    assert np.count_nonzero(out) == round(1000 * (1 - share))


@pytest.mark.parametrize("view", [crop_out, mask_out])
def test_the_generator_decides(view):
    one, two, other = (view(ramp(50), np.random.default_rng(s)).samples for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("view", [crop_out, mask_out])
def test_every_place_is_as_likely(view):
    """Ten samples, five of them hit: the stretch begins at 0 … 5, each in a sixth of the draws."""
    rng = np.random.default_rng(0)
    starts = []
    for _ in range(6000):
        kept = view(ramp(10), rng, coverage=0.5).samples
        starts.append(int(np.setdiff1d(np.arange(1, 11), kept)[0]) - 1)
    counts = np.bincount(starts, minlength=6)
    assert len(counts) == 6
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)


# --- pictures ---


def test_grey_has_equal_channels_and_the_luminance() -> None:
    found = greyed(PIXELS)
    assert (found == found[..., :1]).all()
    assert (greyed(found) == found).all()
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    assert greyed(colours)[0, :, 0].tolist() == [76, 150, 29, 255]


@pytest.mark.parametrize("change", CHANGES)
def test_a_factor_of_one_changes_nothing(
    change: Callable[[FloatArray, float], FloatArray],
) -> None:
    np.testing.assert_allclose(change(X, 1.0), X, atol=1e-6)


def test_a_factor_of_nought_takes_all() -> None:
    assert brightened(X, 0).max() == 0
    assert np.ptp(contrasted(X, 0)) == 0
    np.testing.assert_allclose(saturated(X, 0), greyed(PIXELS) / np.float32(255), atol=0.003)


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
    grey = [(view == view[..., :1]).all() for view in views]
    plain = [(np.sort(view, axis=1) == np.sort(pixels, axis=1)).all() for view in views]
    assert np.mean(flipped) == pytest.approx(0.5, abs=0.05)
    assert np.mean(grey) == pytest.approx(0.2, abs=0.04)
    assert np.mean(plain) == pytest.approx(0.2 * 0.8, abs=0.04)


# --- clips ---


@pytest.mark.parametrize("seed", range(6))
def test_equal_frames_stay_equal(seed: int) -> None:
    view = clip_view(Clip(np.stack([PICTURE] * 5), 12.5), np.random.default_rng(seed))
    assert view.frames.shape == (5, 112, 112, 3)
    assert view.frames.dtype == np.uint8
    assert view.rate == 12.5
    assert (view.frames == view.frames[0]).all()


def test_a_frame_is_treated_alike_whatever_is_beside_it() -> None:
    frames = np.random.default_rng(1).integers(0, 256, (4, 40, 56, 3), np.uint8)
    whole = clip_view(Clip(frames), np.random.default_rng(3)).frames
    for i in range(4):
        alone = clip_view(Clip(frames[i : i + 1]), np.random.default_rng(3)).frames
        np.testing.assert_array_equal(alone[0], whole[i])


def test_frames_are_blurred_and_a_fifth_grey() -> None:
    rng = np.random.default_rng(0)
    noise = np.random.default_rng(1).integers(0, 256, (1, 112, 112, 3), np.uint8)
    views = [clip_view(Clip(noise), rng).frames for _ in range(150)]
    grey = [bool((view == view[..., :1]).all()) for view in views]
    assert np.mean(grey) == pytest.approx(0.2, abs=0.1)
    rough = [float(view.std()) for view, is_grey in zip(views, grey, strict=True) if not is_grey]
    # From hardly at all (sigma 0.1) to a lot (sigma 2).
    assert max(rough) > 0.9 * noise.std()
    assert min(rough) < 0.2 * noise.std()


@given(st.integers(16, 200), st.integers(0, 100))
def test_two_instants_are_windows_of_the_video(count: int, seed: int) -> None:
    first, second = two_instants(count, 16, 2, np.random.default_rng(seed))
    for window in (first, second):
        assert window.frames == 16
        assert window.last < count
    assert first.step == second.step == (2 if count >= 31 else 1)
    assert (first != second) == (count not in (16, 31))


def test_every_instant_can_be_drawn() -> None:
    rng = np.random.default_rng(0)
    drawn = {window.first for _ in range(200) for window in two_instants(40, 16, 2, rng)}
    assert drawn == set(range(10))
    with pytest.raises(BadMedia, match="9 frames, 16 are needed"):
        two_instants(9, 16, 2, rng)
