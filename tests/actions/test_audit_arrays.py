"""An audit of arrays is the audit of the datasets that they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import withhold
from audit.audited import LINEAR, world
from withhold import Dataset
from withhold.core.errors import UserError

HOW: dict[str, Any] = {"attackers": LINEAR, "quick": True, "workers": 1, "order_counts": False}


@pytest.fixture(scope="module")
def made() -> tuple[np.ndarray, pd.DataFrame]:
    one = world(600)
    return one.x, one.attributes.to_pandas()


def informed(found: Any) -> float:
    return float(found.attributes["secret"].informed.accuracy)


@pytest.mark.parametrize("form", ["array", "list", "frame", "tensor"])
def test_arrays_are_audited_as_datasets_are(made: Any, form: str) -> None:
    x, labels = made
    shuffled = np.random.default_rng(0).permutation(x)  # tells nothing: the wrong person's record
    whole = Dataset.from_arrays(x, labels)
    wanted = {
        key: informed(
            withhold.audit(whole, Dataset.from_arrays(r), "secret", same_order=True, **HOW)
        )
        for key, r in {"same": x, "shuffled": shuffled}.items()
    }
    assert wanted["same"] > 0.9
    assert wanted["shuffled"] < 0.65
    turn = {
        "array": np.asarray,
        "list": np.ndarray.tolist,
        "frame": pd.DataFrame,
        "tensor": lambda a: torch.tensor(a, requires_grad=True),
    }[form]
    for key, released in {"same": x, "shuffled": shuffled}.items():
        vouch = {"attributes": labels, "suppress": "secret", "same_order": True}
        found = withhold.audit(turn(x), turn(released), **vouch, **HOW)
        assert informed(found) == wanted[key]
    # Nobody vouches for rows that lie no nearer to their own originals than to others.
    found = withhold.audit(turn(x), turn(x), attributes=labels, suppress="secret", **HOW)
    assert informed(found) > 0.9
    assert repr(found) == f"Audit({found.verdict})"
    assert "<td>secret</td><td>suppress</td>" in found._repr_html_()
    with pytest.raises(UserError, match="were the rows shuffled"):
        withhold.audit(turn(x), turn(shuffled), attributes=labels, suppress="secret", **HOW)


def test_arrays_alone_and_releases_of_another_width(made: Any) -> None:
    x, labels = made
    assert informed(withhold.audit(x, attributes=labels, suppress="secret", **HOW)) > 0.9
    narrow = withhold.audit(x, x[:, :5], attributes=labels, suppress="secret", **HOW)
    assert narrow.attributes["secret"].ignorant is None
    assert informed(narrow) > 0.7


def test_a_series_and_a_group(made: Any) -> None:
    x, labels = made
    one = withhold.audit(x, attributes=labels["secret"], suppress="secret", **HOW)
    assert list(one.attributes) == ["secret"]
    people = labels.assign(person=np.arange(600) // 6)
    found = withhold.audit(x, attributes=people, group="person", suppress="secret", **HOW)
    assert found.attributes["secret"].informed.ci != one.attributes["secret"].informed.ci


def test_what_does_not_fit_is_told(made: Any) -> None:
    x, labels = made
    whole = Dataset.from_arrays(x, labels)

    def said(*arrays: Any, **more: Any) -> str:
        with pytest.raises(UserError) as error:
            withhold.audit(*arrays, suppress="secret", **more, **HOW)
        return str(error.value)

    message = said(x, x[:500], attributes=labels)
    assert "the original array has (600, 12) values" in message
    assert "the released array (500, 12)" in message
    assert "row i" in message
    assert "attributes have 500 records, the features 600" in said(x, x, attributes=labels[:500])
    assert "pass attributes=frame" in said(x, x)
    assert "must be a matrix (records, features), not 1-d" in said(x, x[:, 0], attributes=labels)
    assert "must be a matrix of numbers" in said(labels, x, attributes=labels)
    assert "are NaN or infinite" in said(x, np.full_like(x, np.nan), attributes=labels)
    assert "already has its attributes and group" in said(whole, x, attributes=labels)
    with pytest.raises(UserError, match="did you mean 'secret'"):
        withhold.audit(x, x, "secrt", attributes=labels, **HOW)
