"""Clips as small pixels: which frames are kept, and that nothing is mixed up."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.media.clip_pixels import (
    CHANNELS,
    DETAILED,
    FRAMES,
    are_clips,
    clip_seen_small,
    detail_of_clips,
    frame_numbers,
    frames_of_clips,
    windows_of_clips,
)
from withhold.media.image_detail import MAPS, detail
from withhold.records.samples import BadMedia


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 31, 500])
def test_frames_from_all_of_the_clip_and_consecutive_ones(count):
    numbers = frame_numbers(count)
    assert len(numbers) == FRAMES
    spread, middle = numbers[:8], numbers[8:]
    assert (spread[0], spread[-1]) == (0, count - 1)
    assert spread == sorted(spread)
    if count >= 8:
        assert set(np.diff(middle)) == {1}
        assert abs((middle[0] + middle[-1]) / 2 - (count - 1) / 2) <= 0.5
    assert set(numbers) <= set(range(count))


def test_views_hold_the_frames_of_their_own_clip():
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (3, 20, 16, 16, 3), dtype=np.uint8)
    pixels = np.stack([clip_seen_small(clip, 16) for clip in clips])
    assert pixels.shape == (3, CHANNELS, 16, 16)
    assert are_clips(pixels)
    assert not are_clips(pixels[:, : 3 + MAPS])
    numbers = frame_numbers(20)
    shown = clips[:, numbers].transpose(0, 1, 4, 2, 3)
    assert np.array_equal(frames_of_clips(pixels), shown)
    assert np.array_equal(windows_of_clips(pixels).reshape(3, FRAMES, 3, 16, 16), shown)
    found = detail_of_clips(pixels)
    assert found.shape == (3, DETAILED, MAPS + 6, 16, 16)
    assert np.array_equal(found[1, 1, :MAPS], detail(clips[1, numbers[2]], clips[1, numbers[2]]))
    ends = np.concatenate([clips[2].max(axis=0), clips[2].min(axis=0)], axis=2).transpose(2, 0, 1)
    assert all(np.array_equal(found[2, part, MAPS:], ends) for part in range(DETAILED))


def test_a_clip_without_frames_is_bad_media():
    with pytest.raises(BadMedia, match="no frames"):
        clip_seen_small(np.zeros((0, 8, 8, 3), np.uint8), 8)
