"""The bench of a step of `meta` against one of `adversarial`."""

from __future__ import annotations

from pathlib import Path

import pytest

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
