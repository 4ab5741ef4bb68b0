"""Attackers of clips: what they read, on clips whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from audit.moving import bar_clips, drifting
from audit.pictures import labelled
from contracts.attacker import by_turns
from withhold.audit.attackers import ClipR3D, ClipStack, FrameCnn, FrameDetail
from withhold.audit.metrics import accuracy
from withhold.media.clip_pixels import (
    CHANNELS,
    clip_seen_small,
    detail_of_clips,
    frames_of_clips,
    windows_of_clips,
)
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

FRAMES = FrameCnn(width=8, images=6_000, most_epochs=12)
STACK = ClipStack(width=8, images=4_000, most_epochs=16)
R3D = ClipR3D(images=1_600, most_epochs=8)
DETAIL = FrameDetail(width=8, images=2_000, most_epochs=8)
VIEWS = {"frames": frames_of_clips, "windows": windows_of_clips, "frame-detail": detail_of_clips}


@pytest.fixture(autouse=True)
def _one_thread():
    """As in an audit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small(clips) -> np.ndarray:
    """As `with_pixels` makes them."""
    return np.stack([clip_seen_small(clip, clips.shape[2]) for clip in clips])


def fit(clips, data: Dataset, attacker: FrameCnn, seed: int = 0):
    label = data.attribute("label")
    train, val = (data.parts == part for part in ("train", "val"))
    x = VIEWS[attacker.view](small(clips))
    return x, attacker.fit(x[train], label.rows(train), x[val], label.rows(val), seed=seed)


def scores(clips, data: Dataset, attacker: FrameCnn, seed: int = 0) -> np.ndarray:
    x, fitted = fit(clips, data, attacker, seed)
    return fitted.logits(x[data.parts == "test"])


def read(clips, data: Dataset, attacker: FrameCnn, seed: int = 0) -> float:
    truth = data.attribute("label").rows(data.parts == "test")
    return accuracy(scores(clips, data, attacker, seed), truth)[0]


def test_frames_show_what_frames_show():
    clips, up = bar_clips(150)
    assert read(clips, labelled(up, 150), replace(FRAMES, images=3_000)) > 0.95


@pytest.mark.slow
def test_motion_is_read_by_those_that_see_the_order_and_by_no_others():
    clips, right = drifting(200)
    data = labelled(right, 200)
    assert read(clips, data, replace(FRAMES, images=800)) < 0.7
    assert read(clips, data, STACK) > 0.9
    assert read(clips, data, R3D) > 0.9


@pytest.mark.parametrize("attacker", [FRAMES, STACK, R3D, DETAIL], ids=lambda a: a.name)
def test_where_nothing_leaks_the_interval_holds_chance(attacker):
    missed = 0
    for seed in range(3):
        clips, _ = drifting(60, seed=seed)
        data = labelled(np.random.default_rng(seed).integers(0, 2, 60), 60)
        brief = replace(attacker, images=60, least_epochs=1)
        truth = data.attribute("label").rows(data.parts == "test")
        low, high = accuracy(scores(clips, data, brief, seed), truth)[1]
        missed += not low <= 0.5 <= high
    assert missed <= 1


def test_a_mark_of_one_pixel_in_one_frame_is_in_the_extremes():
    """No frame that is kept shows it."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 200)
    clips = rng.integers(90, 110, (200, 30, 16, 16, 3), dtype=np.uint8)
    clips[label == 1, 2, 5, 5] = 255
    data = labelled(label, 200)
    assert read(clips, data, DETAIL) > 0.95


def test_several_labels_at_once():
    rng = np.random.default_rng(0)
    on = rng.integers(0, 2, (150, 2))
    clips = rng.integers(0, 80, (150, 8, 16, 16, 3), dtype=np.uint8)
    clips[on[:, 0] == 1, :, :5] += 100  # the second label does not show
    label = Attribute("label", "multilabel", ("a", "b"), on)
    train, val, test = (by_turns(150) == part for part in ("train", "val", "test"))
    x = frames_of_clips(small(clips))
    fitted = replace(FRAMES, images=2_000).fit(
        x[train], label.rows(train), x[val], label.rows(val), seed=0
    )
    found = fitted.logits(x[test])
    right = ((found > 0) == (on[test] == 1)).mean(axis=0)
    assert right[0] > 0.97
    assert right[1] == pytest.approx(0.5, abs=0.3)


@pytest.mark.parametrize("attacker", [FRAMES, STACK, R3D, DETAIL], ids=lambda a: a.name)
def test_the_seed_decides_and_a_warm_start_begins_where_the_model_ended(attacker):
    clips, up = bar_clips(30)
    data = labelled(up, 30)
    brief = replace(attacker, images=20, least_epochs=1)
    x, one = fit(clips, data, brief, seed=5)
    x.flags.writeable = False  # as in a worker process
    assert np.array_equal(one.logits(x), fit(clips, data, brief, seed=5)[1].logits(x))
    assert not np.array_equal(one.logits(x), fit(clips, data, brief, seed=6)[1].logits(x))
    alone = np.concatenate([one.logits(x[i : i + 1]) for i in range(3)])
    assert np.allclose(alone, one.logits(x)[:3], atol=1e-4)
    fixed = fit(clips[:, ::-1], data, brief.fixed(one.state()))[1]
    assert np.array_equal(fixed.logits(x), one.logits(x))


def test_frames_of_a_clip_are_averaged():
    clips, up = bar_clips(60)
    x, fitted = fit(clips, labelled(up, 60), replace(FRAMES, images=500))
    each = [fitted.logits(x[:5, i : i + 1]) for i in range(x.shape[1])]
    assert np.allclose(fitted.logits(x[:5]), np.mean(each, axis=0), atol=1e-4)
    shuffled = x[:5, ::-1]
    assert np.allclose(fitted.logits(x[:5]), fitted.logits(shuffled), atol=1e-4)


def test_costs_grow_with_records_and_size():
    for attacker in (FrameCnn(), ClipStack(), ClipR3D(), FrameDetail()):
        d = CHANNELS * 32 * 32
        assert 0 < attacker.cost(2_000, d, 2) < attacker.cost(20_000, d, 2) < 3600
