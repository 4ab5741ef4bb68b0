"""Who counts as a person in `exact`, and values and classes that too few people have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch

import withhold as wh
from support import Recorder
from withhold.core.errors import UserError
from withhold.methods.features.exact.people import people_in
from withhold.methods.features.exact.preserved_values import refuse_rare_values, with_every_value
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.table_features import encode_table

ROLES = Roles(("sex",))


def _table(copies: int = 0, n: int = 400) -> pa.Table:
    """People of whom one, with a rare illness, is there many times."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "sex": rng.choice(["m", "f"], n),
            "age": rng.integers(18, 90, n),
            "town": [f"t{i}" for i in rng.integers(0, 12, n)],
            "ill": rng.choice(["no", "flu", "cold"], n),
        }
    )
    one = pa.table({"sex": ["m"], "age": [44], "town": ["t3"], "ill": ["rare"]}, table.schema)
    return pa.concat_tables([table, *[one] * copies])


@pytest.mark.slow
def test_a_rare_value_of_one_person_does_not_leave_however_often_it_is_copied() -> None:
    said = Recorder()
    made = wh.release(
        _table(100), suppress="sex", config={"codes": 12, "scores": "metric"}, progress=said
    )
    assert set(made.table["ill"].to_pylist()) == {"no", "flu", "cold"}
    assert any(
        "(up to 100 of one row)" in line and line.startswith("warning") for line in said.lines
    )


def test_with_a_group_the_owner_says_who_is_who() -> None:
    table = _table(100).append_column("id", pa.array([f"p{i}" for i in range(500)]))
    data = encode_table(Dataset.read(table, kind="table", group="id"), ["sex"])
    assert len(np.unique(people_in(data, ROLES, 5, Recorder()))) == 500


def test_a_row_number_does_not_tell_copies_apart() -> None:
    table = _table(100).append_column("number", pa.array(np.arange(500)))
    data = encode_table(Dataset.read(table, kind="table"), ["sex"])
    assert len(np.unique(people_in(data, ROLES, 5, Recorder())[400:])) == 1


def test_a_group_of_few_people_is_refused() -> None:
    data = encode_table(Dataset.read(_table(), kind="table", group="ill"), ["sex"])
    with pytest.raises(UserError, match="names only 3 people"):
        people_in(data, ROLES, 5, Recorder())


def test_rare_preserved_values_are_refused_by_people_not_by_rows() -> None:
    u, people = np.array([0] * 8 + [1] * 8), np.arange(16)
    names = ('["low"]', '["high"]')
    refuse_rare_values(names, u, people, least=5, attributes=("income",))
    with pytest.raises(UserError, match=r"'high' by 1\), and a preserved value leaves"):
        refuse_rare_values(names, u, np.minimum(people, 8), least=5, attributes=("income",))


def test_every_preserved_value_keeps_a_code() -> None:
    log_shares = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.3, 0.7]]).log()
    kept = with_every_value(torch.tensor([True, False, False, False]), log_shares)
    assert kept.tolist() == [True, False, False, True]


@pytest.mark.slow
def test_a_small_preserved_value_is_released_with_its_own_code() -> None:
    """Once, all codes of a value with few records were left out, and its records had no draw."""
    table = _table()
    job = np.where(np.arange(400) < 12, "rare", np.random.default_rng(1).choice(["a", "b"], 400))
    table = table.append_column("job", pa.array(job))
    made = wh.release(table, suppress="sex", preserve="job", same_order=True)
    assert made.table["job"].to_pylist() == job.tolist()
    claim = made.certificate.attributes["sex"].release
    assert claim is not None
    assert np.isfinite(claim.stated)
