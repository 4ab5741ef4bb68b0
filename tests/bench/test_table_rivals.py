"""A table released by several tools: what each keeps and tells, and what is missing where."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from withhold.bench import Recipe, find_recipe, run_recipe, table_rivals
from withhold.bench.gaussian_copula import ColumnIntervals, synthetic_table
from withhold.bench.rival_tables import TableCase, release_table
from withhold.bench.table_rivals import learned_task
from withhold.certificate import plan_linked
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source

TEXT = """
title: "generated"
kind: table-rivals
method: exact
data: stub
test_data: stub-test
suppress: sex
task: income
measure: [sex, job]
config: {codes: 12}
rows:
  - {label: original, suppress: sex, tool: identity}
  - {label: dropped, suppress: sex, tool: drop}
  - {label: exact, suppress: sex, tool: exact}
"""


def _people(n: int, seed: int) -> Dataset:
    """Sex shows in the height and in the job; income depends on the job and on the hours."""
    rng = np.random.default_rng(seed)
    sex = rng.random(n) < 0.4
    job = np.array(["clerk", "nurse", "smith"])[(rng.integers(0, 2, n) + sex) % 3]
    hours = rng.integers(10, 60, n)
    rich = (hours > 35) & (job != "clerk")
    columns = {
        "sex": np.where(sex, "m", "f").tolist(),
        "height": (160 + 15 * sex + 6 * rng.standard_normal(n)).tolist(),
        "job": [None if rng.random() < 0.05 else str(j) for j in job],
        "hours": hours.tolist(),
        "income": np.where(rich, "high", "low").tolist(),
    }
    return Dataset.of_table(open_source(pa.table(columns)))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less Monte Carlo: figures that this bench does not show."""
    monkeypatch.setattr(plan_linked, "_WORK", 200_000)


@pytest.fixture(scope="module")
def case() -> TableCase:
    return TableCase(_people(600, 0), _people(300, 1), "sex", "income", {"codes": 12}, Silent())


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: TableCase) -> Recipe:
    sets = {"stub": case.data, "stub-test": case.test}
    monkeypatch.setattr(table_rivals, "public", lambda name, *, progress: sets[name])
    monkeypatch.setattr(table_rivals, "SEEDS", (0,))
    (tmp_path / "made.yaml").write_text(TEXT)
    return find_recipe(str(tmp_path / "made.yaml"))


@pytest.mark.slow
def test_tools_side_by_side(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rivals, "table_quality", lambda before, after: (0.5, 0.25))
    result = run_recipe(recipe, tmp_path / "out", progress=Silent())
    original, dropped, exact = result.rows
    assert original.attack == (1.0,)  # its column is there
    assert dropped.attack[0] > 0.8
    assert dropped.read["job"][0] > 0.9
    assert exact.attack[0] < dropped.attack[0] - 0.1
    assert exact.proved[0] == pytest.approx(exact.floor, abs=1e-4)
    assert (original.proved, dropped.proved) == ((), ())
    assert dropped.task[0] > 0.95
    assert dropped.task == original.task  # a task never sees the secret
    header, lines = result.cells()
    assert {len(line) for line in lines} == {len(header)}
    assert lines[0][header.index("shapes")] == "50.0 ± 0.0"


def test_erasers_release_numbers(case: TableCase) -> None:
    for method in ("leace", "correlation-remover"):
        package = {"leace": "concept_erasure", "correlation-remover": "fairlearn"}[method]
        pytest.importorskip(package)
        made = release_table(case, method, seed=0)
        assert not made.alike
        assert made.table.column_names == made.test.column_names
        assert made.table["income"].equals(case.data.table["income"])
        x = np.stack([made.table[c].to_numpy() for c in made.table.column_names if c != "income"])
        s = made.secret.codes == 1
        # No column differs in its mean between the classes.
        np.testing.assert_allclose(x[:, s].mean(axis=1), x[:, ~s].mean(axis=1), atol=1e-3)
        assert learned_task(made, case, seed=0) > 0.7


def test_a_synthetic_table(case: TableCase) -> None:
    pytest.importorskip("copulas")
    made = release_table(case, "gaussian-copula", seed=0)
    assert made.rows is None
    assert "sex" not in made.table.column_names
    assert len(made.secret.codes) == len(made.table) == 600
    for name in ("job", "hours"):
        assert set(made.table[name].to_pylist()) <= set(case.data.table[name].to_pylist())
    # The correlation of height and sex is made too, so the secret can be read.
    tall = np.asarray(made.table["height"].to_pylist())
    means = [tall[made.secret.codes == c].mean() for c in (0, 1)]
    assert means[1] - means[0] > 8
    again = synthetic_table(case.data.table, 600, seed=0)
    assert again.drop_columns(["sex"]).equals(made.table)


def test_values_keep_their_shares() -> None:
    column = pa.array(["a", None, "b", "b", "b", "a", "b", "b"])
    intervals = ColumnIntervals.of(column)
    rng = np.random.default_rng(0)
    assert intervals.take(intervals.places(column, rng)).equals(column)
    drawn = intervals.take(rng.random(20_000)).to_pylist()
    assert drawn.count("b") / 20_000 == pytest.approx(5 / 8, abs=0.02)
    assert drawn.count(None) / 20_000 == pytest.approx(1 / 8, abs=0.02)


def test_what_is_missing_is_named(
    case: TableCase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "copulas.multivariate", None)
    with pytest.raises(UserError, match=r"copulas: pip install \"withhold\[rivals\]\""):
        release_table(case, "gaussian-copula", seed=0)
    monkeypatch.setitem(sys.modules, "sdmetrics.reports.single_table", None)
    with pytest.raises(UserError, match="sdmetrics"):
        table_rivals.table_quality(case.data.table, case.data.table)
    with pytest.raises(UserError, match=r"'lace'.*leace"):
        release_table(case, "lace", seed=0)
    (tmp_path / "bad.yaml").write_text(TEXT.replace("task: income\n", ""))
    with pytest.raises(UserError, match="'task'"):
        find_recipe(str(tmp_path / "bad.yaml"))


def test_quality_of_the_original_is_perfect(case: TableCase) -> None:
    pytest.importorskip("sdmetrics")
    columns = case.data.table.select(["height", "job", "hours"])
    shapes, pairs = table_rivals.table_quality(columns, columns)
    assert (shapes, pairs) == pytest.approx((1.0, 1.0), abs=1e-6)
    order = np.random.default_rng(0).permutation(len(columns))
    alone = columns.set_column(0, "height", columns["height"].take(pa.array(order)))
    assert table_rivals.table_quality(columns, alone)[0] == pytest.approx(1.0)
