"""The rows of a comparison: sizes of `exact`, their order, and reasons to skip."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.actions.compare_case import CompareCase
from withhold.actions.compare_plans import in_running_order, row_plans, with_part
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@pytest.fixture
def case(tmp_path_factory: pytest.TempPathFactory) -> CompareCase:
    """A table whose secret has 30 classes."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("plans") / "table.parquet"
    table = {"secret": [f"s{i % 30}" for i in range(600)], "size": rng.integers(0, 9, 600)}
    pq.write_table(pa.table(table | {"colour": rng.choice(["red", "green"], 600)}), path)
    return CompareCase.of(Dataset.read(path, kind="table"), Roles.of("secret"), (), Silent())


def test_sizes_of_exact_follow_from_the_default(case: CompareCase) -> None:
    plans = {p.label: p for p in row_plans(case, ("exact",), None)}
    quarter = with_part(plans["exact, 1/4 of the codes"], 100, [])
    assert quarter.config == {"codes": 25}
    assert with_part(plans["exact, 1/16 of the codes"], 100, [25]).config == {"codes": 6}
    # With 6 codes both would have 2.
    small = with_part(plans["exact, 1/16 of the codes"], 6, [2])
    assert small.skipped == "exact has only 6 codes here; there is nothing smaller to try"
    assert with_part(quarter, None, []).skipped == "exact with all its codes was not run"
    assert with_part(plans["exact"], None, []) == plans["exact"]


def test_rows_are_shown_in_one_order_and_made_in_another(case: CompareCase) -> None:
    plans = row_plans(case, (), "secret<=floor+1")
    assert [p.method for p in plans] == [
        "identity", "leace", "noise", "noise", "pass", "mass-it", "codebook", "exact", "exact",
        "exact",
    ]  # fmt: skip
    made = [p.label for p in in_running_order(plans)]
    assert made[:2] == ["identity", "exact"]
    assert made.index("exact, 1/4 of the codes") < made.index("pass")
    assert plans[6].config == {"budget": "secret<=floor+1"}


def test_mass_it_is_not_tried_on_a_table_of_many_classes(case: CompareCase) -> None:
    (mass_it,) = (p for p in row_plans(case, (), None) if p.method == "mass-it")
    assert mass_it.skipped is not None
    assert mass_it.skipped.startswith("'secret' has 30 classes")


def test_a_table_is_encoded_without_the_secret(case: CompareCase) -> None:
    assert case.kind == "table"
    assert case.features.kind == "features"
    assert len(case.features) == 600
    assert case.read == ("size", "colour")
    # Two columns that say nothing of the secret: nine sizes as numbers, two colours.
    assert case.features.dimension < 30
