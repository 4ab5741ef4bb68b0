"""A dataset whose features stay in their file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support import mixed
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.streamed import StreamedDataset, is_large


@pytest.fixture(params=["data.parquet", "data.npz", "data.csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    data = mixed().without(["tags"])  # a CSV holds no lists
    names = [f"f{i}" for i in range(data.dimension)]
    table = {c: data.table[c].to_pylist() for c in data.table.column_names}
    place = tmp_path / request.param
    Dataset.from_arrays(data.x, table, names=names).write(place)
    return place


def test_blocks_and_rows_are_those_of_the_file(path: Path) -> None:
    data = Dataset.read(path, features="f*")
    found = StreamedDataset.open(path, ["secret"], features="f*", exclude=["colour"])
    np.testing.assert_array_equal(np.concatenate([x for _, x in found.blocks()]), data.x)
    some = found.rows(np.array([7, 3]))
    np.testing.assert_array_equal(some.x, data.x[[7, 3]])
    assert some.table.to_pylist() == data.table.take([7, 3]).to_pylist()
    assert "colour" not in some.attribute_names
    assert "secret" in some.attribute_names
    codes = data.attribute("secret").codes
    np.testing.assert_array_equal(found.attribute("secret").codes, codes)
    np.testing.assert_array_equal(some.attribute("secret").codes, codes[[7, 3]])


def test_mistakes_are_refused_as_in_memory(path: Path) -> None:
    for options in ({"group": "nobody"}, {"exclude": ["nothing"]}, {"features": "g*"}):
        with pytest.raises(UserError) as inside:
            Dataset.read(path, **{"features": "f*", **options})
        with pytest.raises(UserError) as outside:
            StreamedDataset.open(path, [], **{"features": "f*", **options})
        assert str(outside.value) == str(inside.value)
    with pytest.raises(UserError, match="did you mean 'secret'"):
        Roles.of("secrt").check(StreamedDataset.open(path, ["secrt"], features="f*"))


def test_large_is_a_number_of_numbers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Dataset.read(path, features="f*")
    monkeypatch.setattr("withhold.records.streamed.MOST", data.x.size)
    assert not is_large(path, "f*")
    monkeypatch.setattr("withhold.records.streamed.MOST", data.x.size - 1)
    assert is_large(path, "f*")
