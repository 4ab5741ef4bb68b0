"""Exact releases beside other methods: the figures of each, and nothing done twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_media import make_media
from support import of_world
from withhold.bench import Recipe, exact_releases, find_recipe, run_recipe
from withhold.certificate import plan_linked
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.worlds import two_attributes

MEDIA = """
title: "made-up faces"
kind: exact
method: exact
data: cmufaces
suppress: person
measure: [person, eyes]
config: {scores: metric}
extractors: [{name: pixels, settings: {side: 4}}]
rows:
  - {label: original}
  - label: codebook
    method: codebook
    suppress: person
    config: {solver: barycentre, use_labels: true, codes: 4}
  - {label: exact, suppress: person}
  - {label: "exact, eyes preserved", suppress: person, preserve: eyes}
"""
FEATURES = """
title: "generated"
kind: exact
method: exact
data: stub
suppress: secret
measure: [secret, useful]
config: {scores: metric, codes: 8}
rows:
  - {label: exact, suppress: secret}
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less Monte Carlo: the figures for several rows are larger, and as true."""
    monkeypatch.setattr(plan_linked, "_WORK", 200_000)


def _recipe(tmp_path: Path, text: str) -> Recipe:
    (tmp_path / "made.yaml").write_text(text)
    return find_recipe(str(tmp_path / "made.yaml"))


@pytest.mark.slow
def test_methods_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WITHHOLD_DATA", str(make_media(tmp_path / "data")))
    monkeypatch.setattr(exact_releases, "SEEDS", (0, 1))
    recipe, out = _recipe(tmp_path, MEDIA), tmp_path / "out"
    result = run_recipe(recipe, out, progress=Silent())
    original, codebook, exact, told = result.rows
    assert min(original.attack) > 0.9  # three people, easily told apart
    assert original.proved == {}
    for row in (codebook, exact, told):
        assert len(row.attack) == len(row.seconds) == 2
        assert all(f >= row.floor - 1e-6 for f in row.proved["proved 1"])
    # 120 records of three people, 40 each: the plan is at the floor, whatever is preserved.
    for row in (exact, told):
        assert row.proved["proved 1"] == pytest.approx((1 / 3, 1 / 3), abs=1e-4)
        assert max(row.attack) < 0.6
    assert codebook.proved["proved 1"] == codebook.proved["table"]
    assert told.useful["eyes"] == (1.0, 1.0)
    header, lines = result.cells()
    assert {len(line) for line in lines} == {len(header)}
    assert lines[0][header.index("table")] == "–"
    monkeypatch.setattr(exact_releases, "fit_bundle", None)
    assert run_recipe(recipe, out, progress=Silent()).rows == result.rows


def test_the_training_part_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = of_world(two_attributes(600, 6, separation_suppress=2.5, separation_preserve=2.5))
    monkeypatch.setattr(exact_releases, "public", lambda name, *, progress: data)
    monkeypatch.setattr(exact_releases, "SEEDS", (0,))
    seen = []
    real = exact_releases.fit_bundle
    monkeypatch.setattr(
        exact_releases, "fit_bundle", lambda d, *a, **k: (seen.append(len(d)), real(d, *a, **k))[1]
    )
    row = run_recipe(_recipe(tmp_path, FEATURES), tmp_path / "out", progress=Silent()).rows[0]
    assert seen == [len(data.part("train"))]
    assert row.useful["useful"][0] > 0.8


def test_one_extractor(tmp_path: Path) -> None:
    two = MEDIA.replace("extractors: [", "extractors: [{name: dlib-face}, ")
    with pytest.raises(UserError, match="one extractor"):
        _recipe(tmp_path, two)
