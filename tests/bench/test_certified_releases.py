"""Releases beside their certificates: what a recipe of them writes, and that it goes on."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from support import Recorder, of_world
from withhold.actions.audit import audit as evaluate
from withhold.audit.evidence import Evidence
from withhold.bench import Recipe, certified_releases, find_recipe, run_recipe
from withhold.bench.fit_row import SHARES, held_out
from withhold.core.progress import Silent
from withhold.datasets.worlds import two_attributes
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

pytestmark = pytest.mark.slow

TEXT = """
title: "Stub [/red]: certified"
kind: certified
data: stub
method: codebook
measure: [secret, useful]
config: {codes: 6, rounds: 2, hidden: [16], dropout: [0, 0]}
rows:
  - {label: original}
  - {label: codebook, suppress: secret}
  - label: codebook, useful preserved
    suppress: secret
    preserve: useful
    config: {softness: 0.6}
  - {label: constant, method: constant, suppress: secret}
"""


@pytest.fixture
def data() -> Dataset:
    return of_world(two_attributes(900, 6, separation_suppress=2.5, separation_preserve=2.5))


@pytest.fixture
def recipe(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setattr(certified_releases, "public", lambda name, *, progress: data)
    monkeypatch.setattr(certified_releases, "evaluate", partial(evaluate, quick=True))
    (tmp_path / "stub.yaml").write_text(TEXT)
    return find_recipe(str(tmp_path / "stub.yaml"))


def test_attacks_and_certificates(
    recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    out = tmp_path / "out"
    result = run_recipe(recipe, out, progress=Silent())
    original, agnostic, told, constant = result.rows
    assert original.attack["secret"] > 0.95
    assert (original.bound, original.codes) == ({}, None)
    for row in (agnostic, told, constant):
        assert row.floor["secret"] <= row.plug_in["secret"] + 1e-6
        assert row.plug_in["secret"] < row.bound["secret"] <= 1
        assert row.attack["secret"] == max(
            row.attack_fitted["secret"], row.attack_held_out["secret"]
        )
    assert (agnostic.codes, constant.codes) == (6, 1)
    assert constant.attack["secret"] == pytest.approx(0.5, abs=0.03)
    assert told.utility["useful"] > 0.9 > constant.utility["useful"]
    for name in ("fitted", "held-out"):
        saved = Evidence.from_json(out / "codebook-useful-preserved" / f"audit-{name}.json")
        assert saved.attributes["secret"].role == "suppress"
    lines = [x for x in (out / "table.md").read_text().splitlines() if x.startswith("|")]
    assert len(lines) == 2 + 4
    assert len({line.count("|") for line in lines}) == 1
    result.print()
    assert "Stub [/red]" in capsys.readouterr().out
    # A second run fits nothing; another setting does, in its row alone.
    said = Recorder()
    again = run_recipe(recipe, out, progress=said)
    assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())
    assert not said.lines
    (tmp_path / "stub.yaml").write_text(TEXT.replace("softness: 0.6", "softness: 0.7"))
    run_recipe(find_recipe(str(tmp_path / "stub.yaml")), out, progress=said)
    assert [x for x in said.lines if x.startswith("row: ")] == ["row: codebook, useful preserved"]


def test_held_out_records_are_none_that_were_fitted(data: Dataset) -> None:
    release = data.with_features(-data.x)
    original, released = held_out(data, release, Roles.of("secret"))
    assert np.array_equal(original.x, data.part("test").x)
    assert np.array_equal(released.x, -original.x)
    assert original.parts is not None
    assert np.array_equal(original.parts, released.parts)
    for part, share in zip(("train", "val", "test"), SHARES, strict=True):
        assert np.mean(original.parts == part) == pytest.approx(share, abs=0.01)
