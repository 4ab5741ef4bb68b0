"""The bench of extraction measures what it says; no figure is asserted but its arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import Recorder
from withhold.bench.media_speed import Held, MediaSpeedResult, Timed, measure_media_speed

pytestmark = pytest.mark.slow


def test_ratio_and_table():
    result = MediaSpeedResult((Timed("pixels", 10, 50.0, 45.0),), (Held("pixels", 10, 300, 310),))
    assert result.timed[0].ratio == pytest.approx(0.9)
    header, lines = result.cells()
    assert dict(zip(header, lines[0], strict=True))["ratio"] == "0.90"
    assert lines[0][-2:] == ["300", "310"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_small_run_leaves_figures_and_no_media(tmp_path):
    cases = (("pixels", {}, 12), ("logmel", {}, 12), ("frame-stats", {}, 2))
    result = measure_media_speed(
        tmp_path, progress=Recorder(), cases=cases, memory=(("pixels", 5),)
    )
    assert [t.extractor for t in result.timed] == ["pixels", "logmel", "frame-stats"]
    assert all(t.bare > 0 and t.ours > 0 for t in result.timed)
    assert result.held[0].megabytes > 50
    written = json.loads((tmp_path / "speed.json").read_text())
    assert written["timed"][0]["ratio"] == result.timed[0].ratio
    assert not (tmp_path / "made").exists()
