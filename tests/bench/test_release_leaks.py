"""`withhold bench release-leaks`: what it writes, and that it goes on where it stopped."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from withhold.bench import find_recipe, release_leaks, run_recipe
from withhold.core.progress import Silent
from withhold.datasets.worlds.leaky import LEAKY


def _alarm(seed: int) -> bool:
    return seed == 1


@pytest.mark.slow
def test_what_it_writes_and_that_it_goes_on(tmp_path: Path, monkeypatch, capsys):
    small = {"extra_column": partial(LEAKY["extra_column"], 800)}
    monkeypatch.setattr(release_leaks, "LEAKY", small)
    monkeypatch.setattr(release_leaks, "SEEDS", (11,))
    monkeypatch.setattr(release_leaks, "CONTROLS", 2)
    monkeypatch.setattr(release_leaks, "harmless_alarm", _alarm)
    result = run_recipe(find_recipe("release-leaks"), tmp_path, progress=Silent())
    text = (tmp_path / "table.md").read_text()
    assert "| extra column | 80.0 | 1 of 1 |" in text
    assert "| column" in text
    assert "Of 2 releases with six harmless columns and no leak 1 were called readable." in text
    assert json.loads((tmp_path / "release-leaks.json").read_text())["alarms"] == 1
    result.print()
    assert "extra column" in capsys.readouterr().out
    monkeypatch.setattr(release_leaks, "measure_one", None)
    again = release_leaks.measure_release_leaks(tmp_path, progress=Silent())
    assert again.leaks == result.leaks
