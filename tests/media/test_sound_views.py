from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.media.sound_views import crop_out, mask_out
from withhold.records.samples import Sound

LENGTH = st.integers(1, 60)
COVERAGE = st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.9])


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
