"""`withhold bench engine-speed`: the same files from every engine, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import Recorder
from withhold.bench.engine_speed import run_engine_speed
from withhold.bench.recipe import Recipe
from withhold.core.errors import UserError


def recipe(**settings: Any) -> Recipe:
    return Recipe(
        name="engine-speed", title="", kind="engine-speed", method="exact", data_settings=settings
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray itself
def test_a_release_on_two_engines(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    asked = recipe(
        records=2000, features=8, fitted=400, engines=("local", "ray:1"),
        settings={"codes": 8, "rounds": 1},
    )  # fmt: skip
    found = run_engine_speed(asked, tmp_path, progress=Recorder())
    assert [r.engine for r in found.rows] == ["local", "ray:1"]
    assert found.same_bytes
    assert "out.parquet" in found.rows[0].sha256
    assert "the same bytes (release, list of rows" in found.legend
    assert {p.name for p in tmp_path.iterdir()} == {"engine-speed.json", "table.md"}


def test_a_fit_in_memory_is_no_fit_of_passes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^500 x 4 is fitted in memory; give more records"):
        run_engine_speed(recipe(of="fit", records=500, features=4), tmp_path, progress=Recorder())
    assert not list(tmp_path.iterdir())
