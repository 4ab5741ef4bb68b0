"""The bench of a step of `meta` against one of `adversarial`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from withhold.bench.bare_convolutions import BareConvolutions
from withhold.bench.clip_speed import UPDATES, measure_clip_speed
from withhold.core.progress import Silent

SMALL = {
    "height": 16, "width": 16, "frames": 4, "unet_width": 2, "unet_depth": 1, "batch": 4,
    "action_model": "r3d18:0.1", "privacy_models": ["mobilenet-v1:0.1", "mobilenet-v1:0.2"],
}  # fmt: skip


@pytest.mark.slow
def test_all_updates_are_timed_against_adversarial(tmp_path: Path) -> None:
    result = measure_clip_speed(tmp_path, progress=Silent(), cases=(SMALL,), turns=1)
    assert [t.update for t in result.timed] == ["adversarial", *UPDATES]
    assert (result.timed[0].step_ratio, result.timed[0].anonymiser_ratio) == (1.0, 1.0)
    assert all(t.step > t.anonymiser > 0 for t in result.timed)
    assert len(result.cells()[1]) == 4
    assert (tmp_path / "speed.json").exists()
    first, meta, *others = result.timed
    assert first.bare is not None
    assert 0 < first.bare < first.step
    assert first.peak is not None
    assert first.peak > 1e7
    assert meta.peak is not None
    assert [t.peak for t in others] == [None, None]


def test_bare_convolutions_are_those_of_the_step() -> None:
    maker, one, two = (nn.Conv2d(3, 3, 3, padding=1) for _ in range(3))
    bare, x = BareConvolutions(), torch.rand(2, 3, 8, 8)
    with bare.recorded(maker, (one, two)):
        made = maker(x)
        read, _ = one(made).square().mean(), two(made)
        torch.autograd.grad(read, [*maker.parameters()])
    with bare.recorded(one):
        one(made.detach()).mean().backward()
    asked = [[(c.layer, c.data, c.weight, c.passed_back) for c in calls] for calls in bare.parts]
    assert asked == [
        [(maker, False, True, True), (one, True, False, True), (two, True, False, False)],
        [(one, False, True, True)],
    ]
    call = bare.parts[0][1]
    plain = nn.functional.conv2d(made.detach(), one.weight.detach(), padding=1)
    assert torch.equal(call.forward(), plain)
    bare.run()
