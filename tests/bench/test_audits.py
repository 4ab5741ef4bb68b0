"""Whole audits side by side: what a recipe of them writes, and that it goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from support import of_world
from withhold.actions.audit import audit as evaluate
from withhold.audit.evidence import Evidence
from withhold.bench import Recipe, audits, find_recipe, run_recipe
from withhold.bench.external import External
from withhold.bench.process_memory import MemoryWatch
from withhold.core.progress import Silent
from withhold.datasets.worlds import two_attributes

pytestmark = pytest.mark.slow

TEXT = """
title: "Stub [/red]: audits"
kind: audits
data: stub
measure: [secret, useful]
rows:
  - {label: original, suppress: secret}
  - {label: "noise, 3 draws", method: noise, suppress: secret, config: {sigma: 3.0}, draws: 3}
  - {label: constant, method: constant, suppress: secret, preserve: useful}
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    world = two_attributes(900, 6, separation_suppress=2.5, separation_preserve=2.5)
    monkeypatch.setattr(audits, "public", lambda name, *, progress: of_world(world))
    monkeypatch.setattr(audits, "evaluate", partial(evaluate, quick=True))
    (tmp_path / "stub.yaml").write_text(TEXT)
    return find_recipe(str(tmp_path / "stub.yaml"))


def test_every_row_has_its_evidence_and_its_report(
    recipe: Recipe, tmp_path: Path, capsys, monkeypatch
) -> None:
    out = tmp_path / "out" / "stub"
    result = run_recipe(recipe, out, progress=Silent())
    original, noise, constant = (evidence for _, evidence in result.rows)
    assert original.release is None
    assert original.attributes["secret"].readable
    secret = noise.attributes["secret"]
    assert (secret.draws, secret.repeated is not None) == (3, True)
    assert secret.repeated.accuracy > secret.informed.accuracy
    assert constant.attributes["secret"].status == "floor"
    for folder in ("original", "noise-3-draws", "constant"):
        assert Evidence.from_json(out / folder / "audit.json").original.records == 900
        assert "<html" in (out / folder / "report.html").read_text()
    text = (out / "table.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3 * 2
    assert len({line.count("|") for line in lines}) == 1
    result.print()
    assert "Stub [/red]" in capsys.readouterr().out
    # A second run audits nothing.
    monkeypatch.setattr(audits, "evaluate", None)
    again = run_recipe(recipe, out, progress=Silent())
    assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())


def test_releases_of_others_are_read_from_their_files(tmp_path: Path, monkeypatch) -> None:
    data = of_world(two_attributes(900, 6, separation_suppress=2.5, separation_preserve=2.5))
    ids = [f"r{i}" for i in range(len(data))]
    named = data.with_column("id", pa.array(ids))
    named.write(tmp_path / "o.parquet")
    order = np.random.default_rng(0).permutation(len(data))
    named.with_features(-named.x).rows(order).without(["secret"]).write(tmp_path / "r.parquet")
    one = External(
        "theirs", tmp_path / "o.parquet", tmp_path / "r.parquet", "secret", "useful", "x", "turned"
    )
    monkeypatch.setattr("withhold.bench.external.make_external", lambda folder, *, progress: [one])
    monkeypatch.setattr(audits, "evaluate", partial(evaluate, quick=True))
    result = run_recipe(find_recipe("external"), tmp_path / "out", progress=Silent())
    label, found = result.rows[0]
    assert label == "theirs"
    assert found.attributes["secret"].ignorant.accuracy < 0.1
    assert found.attributes["secret"].informed.accuracy > 0.95
    assert any("matched by column 'id'" in note for note in found.notes)


def test_the_watch_counts_the_memory_of_a_child() -> None:
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("this system has no /proc/self/smaps_rollup")
    with MemoryWatch() as watch:
        code = "import time; a = b'x' * (300 << 20); time.sleep(1.5)"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert watch.peak > 300 << 20
