from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.media.views import crop_out, mask_out

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=8)
COVERAGE = st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.9])


def clips(lengths):
    """Waves whose samples are 1, 2, 3 … and zeros behind: every sample tells where it was."""
    lengths = np.array(lengths)
    position = np.arange(lengths.max())
    waves = np.where(position < lengths[:, None], position + 1, 0)
    return waves.astype(np.float32), lengths


@given(lengths=LENGTHS, coverage=COVERAGE, seed=st.integers(0, 99))
def test_cropping_removes_one_stretch_of_the_share_and_keeps_the_order(lengths, coverage, seed):
    waves, lengths = clips(lengths)
    before = waves.copy()
    out, kept = crop_out(waves, lengths, np.random.default_rng(seed), coverage=coverage)
    assert np.array_equal(waves, before)
    assert out.dtype == np.float32
    assert out.shape == (len(lengths), kept.max())
    assert kept.tolist() == [n - int(n * coverage) for n in lengths]
    for clip, n, left in zip(out, lengths, kept, strict=True):
        assert not clip[left:].any()
        gone = np.setdiff1d(np.arange(1, n + 1), clip[:left])
        assert len(gone) == n - left
        assert (np.diff(clip[:left]) > 0).all()
        assert (np.diff(gone) == 1).all()  # one stretch


@given(lengths=LENGTHS, coverage=COVERAGE, seed=st.integers(0, 99))
def test_masking_zeroes_one_stretch_of_the_share_and_nothing_else(lengths, coverage, seed):
    waves, lengths = clips(lengths)
    out, same = mask_out(waves, lengths, np.random.default_rng(seed), coverage=coverage)
    assert out.dtype == np.float32
    assert out.shape == waves.shape
    assert np.array_equal(same, lengths)
    for clip, wave, n in zip(out, waves, lengths, strict=True):
        hole = np.flatnonzero(clip[:n] == 0)
        assert len(hole) == int(n * coverage)
        assert (np.diff(hole) == 1).all()
        assert np.array_equal(clip[clip != 0], wave[:n][clip[:n] != 0])
        assert not clip[n:].any()


@pytest.mark.parametrize(("view", "share"), [(crop_out, 0.4), (mask_out, 0.5)])
def test_the_papers_coverage_is_the_default(view, share):
    waves, lengths = clips([1000])
    out, _ = view(waves, lengths, np.random.default_rng(0))
    assert np.count_nonzero(out) == round(1000 * (1 - share))


@pytest.mark.parametrize("view", [crop_out, mask_out])
def test_the_generator_decides(view):
    waves, lengths = clips([50, 40, 60])
    one, two, other = (view(waves, lengths, np.random.default_rng(s))[0] for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("view", [crop_out, mask_out])
def test_every_place_is_as_likely(view):
    """Ten samples, five of them hit: the stretch begins at 0 … 5, each in a sixth of the draws."""
    waves, lengths = clips([10] * 6000)
    out, _ = view(waves, lengths, np.random.default_rng(0), coverage=0.5)
    if view is mask_out:
        start = (out == 0).argmax(axis=1)
    else:
        start = np.array([np.setdiff1d(np.arange(1, 11), clip)[0] - 1 for clip in out[:, :5]])
    counts = np.bincount(start.astype(int), minlength=6)
    assert len(counts) == 6
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
