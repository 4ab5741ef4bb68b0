"""Elimination on exact releases: hard and soft plans, and what is said of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from withhold.bench import exact_elimination, exact_releases, find_recipe, run_recipe
from withhold.bench.exact_elimination import balanced_rounding
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset

TEXT = """
title: "generated"
kind: elimination-exact
method: exact
data: stub
suppress: secret
measure: [secret]
config: {scores: metric, codes: 30, least: 1}
rows:
  - {label: hard, suppress: secret, config: {softness: 0.02}}
  - {label: soft, suppress: secret, config: {softness: 8}}
  - {label: held, suppress: secret, hold_back: 0.2, config: {softness: 0.02}}
  - {label: rounded, suppress: secret, rounded: true, config: {softness: 8}}
"""


def test_balanced_rounding_keeps_the_shares_of_every_class() -> None:
    rng = np.random.default_rng(0)
    w = rng.dirichlet(np.ones(7), 90).astype(np.float32)
    s = rng.integers(-1, 3, 90)  # -1: no label, a class of its own
    means = np.zeros((4, 7))
    for _ in range(400):
        drawn = balanced_rounding(w, s, rng)
        for c in range(-1, 3):
            count = np.bincount(drawn[s == c], minlength=7)
            assert np.abs(count - w[s == c].sum(axis=0)).max() < 1 + 1e-4
            means[c] += count / 400
    for c in range(-1, 3):
        np.testing.assert_allclose(means[c], w[s == c].sum(axis=0), atol=4.5 * 0.5 / 20)


def test_soft_plans_weaken_elimination(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    secret = np.arange(300) % 3
    x = rng.standard_normal((3, 4))[secret] + rng.standard_normal((300, 4))
    data = Dataset.from_arrays(x.astype(np.float32), {"secret": [f"c{v}" for v in secret]})
    monkeypatch.setattr(exact_releases, "public", lambda name, *, progress: data)
    monkeypatch.setattr(exact_elimination, "SEEDS", (0, 1))
    (tmp_path / "made.yaml").write_text(TEXT)
    recipe, out = find_recipe(str(tmp_path / "made.yaml")), tmp_path / "out"
    result = run_recipe(recipe, out, progress=Silent())
    hard, soft, held, rounded = result.rows
    for row in result.rows:
        assert row.floor == pytest.approx(1 / 3)
        for share in ("0.1", "0.5", "0.9"):
            # What attacks find is below what is proved; they repeat at random.
            assert max(row.measured[share]) <= max(row.bound[share]) + 0.03
        assert (row.bound["all-but-one"] == (1.0, 1.0)) == (row is not held)
    # Ten rows a code, a third of each class: whoever knows the others sees which one lacks.
    assert min(hard.audit) > max(soft.audit)
    assert np.mean(hard.measured["all-but-one"]) > 0.45
    # Rows that are held back may be the ones that a class lacks.
    assert max(held.audit) < min(hard.audit)
    assert max(held.measured["all-but-one"]) <= max(held.bound["all-but-one"]) < 0.8
    # Equal counts in this very release: only a class with a row more than others stays in doubt.
    assert min(rounded.audit) > 0.75 > max(soft.audit)
    assert min(rounded.measured["0.5"]) > max(soft.measured["0.5"])
    header, lines = result.cells()
    assert {len(line) for line in lines} == {len(header)}
    assert " / " in lines[0][header.index("50 % known")]
    monkeypatch.setattr(exact_elimination, "fit_bundle", None)
    assert run_recipe(recipe, out, progress=Silent()).rows == result.rows
