"""What every result writes and prints, whatever was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from withhold.bench.audit_speed import AuditSpeed, AuditSpeedResult
from withhold.bench.memory import MemoryResult
from withhold.bench.result_table import BenchResult, at_most, percent, with_spread
from withhold.bench.speed import SpeedResult

RESULTS: list[BenchResult] = [
    SpeedResult({1: (4.0, 2.0), 2: (3.0, 1.5)}, 2, 900.0, 1000.0),
    AuditSpeedResult(10, 3, 2, (AuditSpeed("full", 9.0, 0.5, {"map": 2.0}, 0.25, "mlp"),)),
    MemoryResult(10, 3, 1.1, 1.2),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: r.command)
def test_what_is_written(
    result: BenchResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert result.write(tmp_path) is result
    written = json.loads((tmp_path / f"{result.command}.json").read_text())
    assert written == json.loads(json.dumps(result.to_dict()))
    text = (tmp_path / "table.md").read_text()
    assert text.startswith(f"### {result.title}\n\n`withhold bench {result.command}`\n")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert result.legend in text
    result.print()
    assert result.cells()[0][0] in capsys.readouterr().out


def test_ratios_of_speed() -> None:
    found = RESULTS[0].to_dict()
    assert found["step_ratio"] == pytest.approx(2)
    assert found["transform_ratio"] == pytest.approx(0.9)


def test_figures() -> None:
    assert (percent(0.1234), percent(None)) == ("12.3", "–")
    assert (at_most(0.1231), at_most(None)) == ("12.4", "–")  # a bound is rounded up
    assert with_spread([0.1, 0.3]) == "20.0 ± 10.0"
