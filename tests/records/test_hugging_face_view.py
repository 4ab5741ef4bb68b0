"""Records as a Hugging Face dataset, and back."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from support import key_of, mixed
from withhold.actions.fit import fit_bundle
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


def test_a_dataset_comes_back_as_it_was() -> None:
    data = mixed()
    given = data.to_hugging_face()
    assert len(given) == len(data)
    again = Dataset.read(given)
    np.testing.assert_array_equal(again.x, data.x)
    assert again.table["colour"].to_pylist() == data.table["colour"].to_pylist()
    assert again.table["tags"].to_pylist() == data.table["tags"].to_pylist()
    assert again.table["secret"].to_pylist() == data.table["secret"].to_pylist()


def test_a_release_has_only_what_may_leave() -> None:
    bundle = fit_bundle(mixed(), Roles.of("secret", "colour"), method="constant", key=key_of(0))
    released = bundle.release(mixed())
    given = released.to_hugging_face()
    assert given.column_names == released.to_pandas().columns.tolist()
    assert "secret" not in given.column_names
    assert "id" not in given.column_names
    np.testing.assert_array_equal(np.array(given["x"]), released.x)


def test_its_own_map_works_on_it() -> None:
    made = (
        mixed()
        .to_hugging_face()
        .map(lambda rows: {"first": [x[0] for x in rows["x"]]}, batched=True)
    )
    np.testing.assert_allclose(made["first"], mixed().x[:, 0])


def test_media_leave_as_files() -> None:
    data = Dataset.from_arrays(np.zeros((2, 8, 8, 3), np.uint8), {"a": ["x", "y"]})
    with pytest.raises(UserError, match="imagefolder"):
        data.to_hugging_face()


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match="pip install datasets"):
        mixed().to_hugging_face()
