"""The bench of a training step against its convolutions."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from withhold.bench.pixel_speed import BareStep, Game, measure_pixel_speed
from withhold.core.progress import Silent
from withhold.methods.images.replace.config import ReplaceConfig

# Narrow networks in bfloat16 crash inside torch on some processors.
SMALL = {"side": 16, "width": 16, "reader_width": 16, "depth": 2, "noise": 4, "batch": 4}


@pytest.mark.slow
def test_both_sides_are_timed(tmp_path: Path) -> None:
    result = measure_pixel_speed(tmp_path, progress=Silent(), cases=(SMALL,), turns=1)
    assert {t.precision for t in result.timed} == {"float32", "bfloat16"}
    assert all(t.step > 0 and t.bare > 0 for t in result.timed)
    assert len(result.cells()[1]) == len(result.timed)
    assert (tmp_path / "speed.json").exists()


@pytest.mark.parametrize("update", [True, False])
def test_the_bare_side_does_the_convolutions_of_a_step(update: bool) -> None:
    """As many forward and backward convolutions as the profiler counts in a step of ours."""
    game = Game(ReplaceConfig(**SMALL))
    with game.recorded() as calls:
        game.step(update_reader=True)
    bare = BareStep(calls, "float32")
    counts = []
    for step in (game.step, bare.step):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
            step(update_reader=update)
        found = {e.key: e.count for e in seen.key_averages()}
        forward, backward = "aten::mkldnn_convolution", "aten::convolution_backward"
        counts.append((found.get(forward, 0), found[backward]))
    assert counts[0] == counts[1]
