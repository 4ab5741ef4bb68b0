from __future__ import annotations

import numpy as np
import pytest

from support import Recorder
from withhold.media.extractors.logmel import LogMel
from withhold.media.sound_views import SoundViews
from withhold.media.sounds import Sounds
from withhold.progress import Silent


@pytest.fixture(scope="module")
def raw():
    """40 tones, each a tenth higher than the one before, in a little noise."""
    rng = np.random.default_rng(0)
    waves = []
    for i, n in enumerate(rng.integers(2000, 6000, 40)):
        wave = np.sin(2 * np.pi * 80 * 1.1**i * np.arange(n) / 8000)
        waves.append((wave + 0.01 * rng.standard_normal(n)).astype(np.float32))
    sounds = Sounds.from_waveforms(waves, 8000)
    return SoundViews(sounds, LogMel(8000).fitted(sounds))


def test_two_views_of_each_clip_that_differ_and_are_still_that_clip(raw):
    rows = np.array([7, 3, 30])
    first, second = raw.views(rows, seed=0, progress=Silent())
    plain = raw.extractor.extract(raw.sounds)
    for view in (first, second):
        assert view.shape == (3, 1024)
        assert np.allclose(np.linalg.norm(view, axis=1), 1, atol=1e-5)
        assert np.abs(view - plain[rows]).max() > 1e-3
    # What is left of a tone is that tone; silence in half of it is no longer.
    assert (first @ plain.T).argmax(axis=1).tolist() == rows.tolist()
    assert ((first * plain[rows]).sum(axis=1) > (second * plain[rows]).sum(axis=1)).all()


def test_the_seed_decides(raw):
    rows = np.arange(40)
    one, two, other = (raw.views(rows, seed=s, progress=Silent()) for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one[0], other[0])
    assert not np.array_equal(one[1], other[1])


def test_some_clips_are_those_clips(raw):
    some = raw.rows(np.array([5, 2]))
    assert some.sounds.lengths.tolist() == raw.sounds.lengths[[5, 2]].tolist()
    assert some.extractor is raw.extractor


def test_progress_counts_every_clip(raw):
    seen = Recorder()
    raw.views(np.arange(40), seed=0, progress=seen)
    assert set(seen.steps.values()) == {40}
