"""Trade-off curves: points, table and figure, and that an interrupted run goes on."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

import pytest

from support import Recorder, of_world
from withhold.actions.audit import audit as evaluate
from withhold.audit.attackers import Logistic
from withhold.bench import Recipe, find_recipe, run_recipe, tradeoff
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.worlds import two_attributes

pytestmark = pytest.mark.slow

TEXT = """
title: "Stub <&>: a trade-off"
kind: tradeoff
data: stub
method: codebook
suppress: secret
measure: [secret, useful]
config: {codes: 6, rounds: 2, hidden: [16], dropout: [0, 0]}
rows:
  - {label: original}
  - {label: constant, method: constant}
  - {label: "noise, sigma 1", method: noise, config: {sigma: 1}}
  - {label: "noise, sigma 9", method: noise, config: {sigma: 9}}
  - {label: "codebook, relax 0.1", suppress: secret, config: {relax: 0.1}}
  - {label: "codebook, all alike", suppress: secret}
  - {label: "codebook told, all alike", suppress: secret, preserve: useful}
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    data = of_world(two_attributes(900, 6, separation_suppress=2.0, separation_preserve=2.0))
    monkeypatch.setattr(tradeoff, "public", lambda name, *, progress: data)
    monkeypatch.setattr(tradeoff, "evaluate", partial(evaluate, quick=True))
    monkeypatch.setattr(tradeoff, "FEW", (Logistic(),))
    (tmp_path / "stub.yaml").write_text(TEXT)
    return find_recipe(str(tmp_path / "stub.yaml"))


def test_points_table_and_figure(recipe: Recipe, tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    result = run_recipe(recipe, out, progress=Silent())
    points = {p.label: p for p in result.rows}
    original, constant = points["original"], points["constant"]
    assert original.attack > 0.93
    assert original.utility["useful"] > 0.93
    assert (original.bound, original.attack_held_out) == (None, None)
    assert constant.attack <= constant.floor + 0.03
    assert constant.bound > constant.attack_fitted
    # More noise hides more and leaves less.
    little, much = points["noise, sigma 1"], points["noise, sigma 9"]
    assert little.attack > much.attack
    assert little.utility["useful"] > much.utility["useful"]
    alike = points["codebook, all alike"]
    assert alike.attack == max(alike.attack_fitted, alike.attack_held_out)
    assert points["codebook told, all alike"].utility["useful"] > 0.85
    kept = json.loads((out / "results.json").read_text())
    assert [p["curve"] for p in kept["points"]] == [
        "original", "constant", "noise", "noise", "codebook", "codebook", "codebook told"
    ]  # fmt: skip
    lines = [x for x in (out / "table.md").read_text().splitlines() if x.startswith("|")]
    assert len(lines) == 2 + 7
    assert len({line.count("|") for line in lines}) == 1
    result.print()
    assert "Stub <&>" in capsys.readouterr().out
    figure = ET.parse(out / "tradeoff.svg").getroot()
    assert figure.find(f"{SVG}title").text == "Stub <&>: a trade-off"
    assert len(figure.findall(f".//{SVG}polyline")) == 2  # noise and codebook
    hints = [t.text for t in figure.findall(f".//{SVG}g/{SVG}title")]
    assert [hint.partition(":")[0] for hint in hints] == [p.label for p in result.rows]


def test_interrupted_run_goes_on_at_the_point(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = tradeoff._point

    def stopped(recipe: Recipe, row: object, **rest: object) -> object:
        if row.label == "noise, sigma 9":  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return point(recipe, row, **rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(tradeoff, "_point", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_recipe(recipe, tmp_path / "out", progress=Silent())
    assert not (tmp_path / "out" / "results.json").exists()
    said = Recorder()
    first = run_recipe(recipe, tmp_path / "out", progress=said)
    done = [line for line in said.lines if line.startswith("point: ")]
    assert done == [f"point: {row.label}" for row in recipe.rows[3:]]
    monkeypatch.setattr(tradeoff, "fit_row", None)
    assert run_recipe(recipe, tmp_path / "out", progress=Silent()).to_dict() == json.loads(
        json.dumps(first.to_dict()), object_hook=_with_tuples
    )


def _with_tuples(found: dict) -> dict:
    return found | ({"attackers": tuple(found["attackers"])} if "attackers" in found else {})


def test_one_suppressed_attribute(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(TEXT + "  - {label: other, suppress: useful}\n")
    with pytest.raises(UserError, match="a trade-off is of one suppressed attribute"):
        run_recipe(find_recipe(str(tmp_path / "two.yaml")), tmp_path / "out", progress=Silent())
