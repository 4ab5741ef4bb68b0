"""A recipe on a stub of a public data set: its files, and that a second run fits nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import TINY, Recorder, of_world
from withhold.bench import Recipe, find_recipe, paper_tables, run_recipe
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.datasets.worlds import two_attributes
from withhold.records.dataset import Dataset

pytestmark = pytest.mark.slow

TEXT = f"""
title: "Stub [/red]: secret suppressed"
paper_title: "nowhere"
data: stub
measure: [secret, useful]
config: {json.dumps(TINY)}
rows:
  - label: original
    paper: {{secret: 99.0}}
  - label: "mass [/]"
    suppress: secret
    preserve: useful
  - label: constant
    method: constant
    suppress: secret
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    world = two_attributes(150, 6, separation_suppress=2.5, separation_preserve=2.5)
    data = of_world(world)

    def stub(name: str, *, progress: Progress) -> Dataset:
        assert name == "stub"
        return data

    monkeypatch.setattr(paper_tables, "public", stub)
    (tmp_path / "stub.yaml").write_text(TEXT)
    return find_recipe(str(tmp_path / "stub.yaml"))


def test_results_and_table(recipe: Recipe, tmp_path: Path) -> None:
    table = run_recipe(recipe, tmp_path / "out" / "stub", progress=Silent())
    results = json.loads((tmp_path / "out/stub/results.json").read_text())
    assert results == json.loads(json.dumps(table.to_dict()))
    original, mass, constant = results["rows"]
    assert original["paper"] == {"secret": 99.0}
    assert original["distortion"] == 0
    assert original["informed"]["secret"] > 0.9
    assert mass["distortion"] > 0
    assert constant["informed"]["secret"] == pytest.approx(0.5, abs=0.03)
    text = (tmp_path / "out/stub/table.md").read_text()
    assert "`withhold bench stub`" in text
    assert "| original | 99.0 / " in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3
    assert len({line.count("|") for line in lines}) == 1
    assert not list(tmp_path.rglob(".*"))


def test_table_prints(recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_recipe(recipe, tmp_path / "out", progress=Silent()).print()
    out = capsys.readouterr().out
    assert "Stub [/red]" in out
    assert "mass [/]" in out
    assert "Paper: nowhere." in " ".join(out.split())


def test_second_run_does_not_fit(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out" / "stub"
    first = run_recipe(recipe, out, progress=Silent())
    monkeypatch.setattr(paper_tables, "fit_row", None)
    monkeypatch.setattr(paper_tables, "evaluate", None)
    said = Recorder()
    assert run_recipe(recipe, out, progress=said).to_dict() == first.to_dict()
    assert said.lines == []


def test_interrupted_run_goes_on_at_the_row(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_row = paper_tables._run_row
    done: list[str] = []

    def counted(recipe: Recipe, row: object, **rest: object) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(row.label)  # type: ignore[attr-defined]
        return run_row(recipe, row, **rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(paper_tables, "_run_row", counted)
        with pytest.raises(KeyboardInterrupt):
            run_recipe(recipe, tmp_path / "out", progress=Silent())
    assert not (tmp_path / "out" / "results.json").exists()
    said = Recorder()
    run_recipe(recipe, tmp_path / "out", progress=said)
    assert [line for line in said.lines if line.startswith("row: ")] == ["row: constant"]


def test_output_that_is_a_file(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UserError, match="cannot be made"):
        run_recipe(recipe, tmp_path / "out", progress=Silent())
