"""Hugging Face datasets, by a fake of their interface and, where installed, by the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.dataset import Dataset

X = np.arange(8, dtype=np.float32).reshape(4, 2)


class ClassLabel:
    def __init__(self, names: list[str]) -> None:
        self.names = names


class Fake:
    """What is used of `datasets.Dataset`: rows chosen by `select` are not moved in the table."""

    def __init__(self, table: pa.Table, features: dict[str, Any], rows: list[int]) -> None:
        self._table, self.features, self._rows = table, features, rows

    def __len__(self) -> int:
        return len(self._rows)

    def with_format(self, kind: str) -> Fake:
        assert kind == "arrow"
        return self

    def __getitem__(self, which: slice) -> pa.Table:
        assert which == slice(None)
        return self._table.take(self._rows)

    def select(self, rows: list[int]) -> Fake:
        return Fake(self._table, self.features, [self._rows[i] for i in rows])


class FakeDict(dict[str, Any]):
    pass


class Stream:
    def __init__(self) -> None:
        self.features: dict[str, Any] = {}


for _one in (Fake, FakeDict, Stream):
    _one.__module__ = "datasets.fake"


def columns() -> dict[str, Any]:
    return {"x": X.tolist(), "animal": [0, 1, -1, 1], "place": ["a", None, "b", "a"]}


def fake() -> Any:
    table = pa.table(columns()).replace_schema_metadata({"huggingface": "{}"})
    return Fake(
        table, {"x": None, "animal": ClassLabel(["cat", "dog"]), "place": None}, [*range(4)]
    )


def package() -> Any:
    """The package, if it is there; without it, a folder of these tests has the same name."""
    datasets = pytest.importorskip("datasets")
    if not hasattr(datasets, "Features"):
        pytest.skip("datasets of Hugging Face is not installed")
    return datasets


def real() -> Any:
    datasets = package()
    features = datasets.Features(
        {
            "x": datasets.Sequence(datasets.Value("float32")),
            "animal": datasets.ClassLabel(names=["cat", "dog"]),
            "place": datasets.Value("string"),
        }
    )
    return datasets.Dataset.from_dict(columns(), features=features)


def as_dict(parts: dict[str, Any]) -> Any:
    if type(next(iter(parts.values()))) is Fake:
        return FakeDict(parts)
    return package().DatasetDict(parts)


@pytest.fixture(params=[fake, real], ids=["fake", "real"])
def made(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_records_and_class_names(made: Any) -> None:
    data = Dataset.read(made)
    np.testing.assert_array_equal(data.x, X)
    assert data.table["animal"].to_pylist() == ["cat", "dog", None, "dog"]
    assert data.table["place"].to_pylist() == ["a", None, "b", "a"]
    assert data.name == "the Hugging Face dataset"
    assert not data.schema.metadata


def test_rows_that_were_chosen(made: Any) -> None:
    data = Dataset.read(made.select([3, 0]))
    np.testing.assert_array_equal(data.x, X[[3, 0]])
    assert data.table["animal"].to_pylist() == ["dog", "cat"]


def test_parts_become_the_split(made: Any) -> None:
    parts = {"train": made.select([0, 1]), "validation": made.select([2]), "test": made.select([3])}
    data = Dataset.read(as_dict(parts))
    np.testing.assert_array_equal(data.x, X)
    assert data.parts is not None
    assert data.parts.tolist() == ["train", "train", "val", "test"]
    with pytest.raises(UserError, match=r"parts train, extra.*read one of them"):
        Dataset.read(as_dict({"train": made, "extra": made}))


def test_a_stream_is_refused_and_told_how() -> None:
    with pytest.raises(UserError, match="without streaming=True"):
        Dataset.read(Stream())
