"""Frames at a network's size."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.media.frames import frames_of, resize_frames
from withhold.records.samples import Clip


def test_a_size_that_is_right_already_changes_nothing() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 7, 9, 3), np.uint8)
    np.testing.assert_array_equal(np.rint(resize_frames(frames, 7, 9) * 255), frames)


def test_one_colour_stays_one_colour() -> None:
    frames = np.full((2, 50, 31, 3), (0, 128, 255), np.uint8)
    x = resize_frames(frames, 12, 40)
    assert x.shape == (2, 12, 40, 3)
    np.testing.assert_allclose(
        x, np.broadcast_to(np.float32([0, 128 / 255, 1]), x.shape), atol=1e-6
    )
    assert x.max() <= 1


def test_shrinking_averages_what_is_under_a_pixel() -> None:
    # Stripes finer than the new pixels become grey; without antialiasing they would alias.
    frames = np.zeros((1, 64, 64, 3), np.uint8)
    frames[:, :, ::2] = 255
    np.testing.assert_allclose(resize_frames(frames, 8, 8)[:, 1:-1, 1:-1], 0.5, atol=0.02)


def test_a_frame_does_not_depend_on_the_others() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 20, 30, 3), np.uint8)
    alone = [resize_frames(frames[i : i + 1], 11, 13)[0] for i in range(3)]
    np.testing.assert_array_equal(resize_frames(frames, 11, 13), alone)


def test_frames_are_taken_from_the_middle() -> None:
    frames = np.broadcast_to(np.arange(40, dtype=np.uint8)[:, None, None, None], (40, 2, 2, 3))
    assert frames_of(Clip(frames), 16, 2)[:, 0, 0, 0].tolist() == list(range(4, 36, 2))
    assert frames_of(Clip(frames[:16]), 16, 2)[:, 0, 0, 0].tolist() == list(range(16))
    with pytest.raises(UserError, match="not a str"):
        frames_of("words", 16, 2)
