"""Views of a video: one draw for all frames, and two instants of one video."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.media.clip_views import clip_view, two_instants
from withhold.records.samples import BadMedia, Clip

PICTURE = np.random.default_rng(0).integers(0, 256, (40, 56, 3), np.uint8)


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
