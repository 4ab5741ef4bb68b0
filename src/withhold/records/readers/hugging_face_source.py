"""Hugging Face datasets, recognised by their class name, so the package is not required."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from withhold.core.errors import UserError, listing

_PARTS = {
    "train": "train",
    "validation": "val",
    "valid": "val",
    "val": "val",
    "dev": "val",
    "test": "test",
}


def is_hugging_face(data: Any) -> bool:
    """Whether this is a `datasets.Dataset`, an `IterableDataset` or a `DatasetDict`."""
    modules = {c.__module__.partition(".")[0] for c in type(data).__mro__}
    return "datasets" in modules and (hasattr(data, "features") or isinstance(data, Mapping))


def hugging_face_table(data: Any) -> pa.Table:
    """The records as an Arrow table; class labels by name, the parts of a dict as `split`."""
    if not isinstance(data, Mapping):
        return _table(data)
    odd = [part for part in data if part not in _PARTS]
    if odd or not data:
        raise UserError(
            f"the Hugging Face dataset has the parts {listing(data)}, but a split may only have"
            " train, validation and test; read one of them: Dataset.read(data['train'])"
        )
    tables = []
    for part, one in data.items():
        table = _table(one)
        if "split" in table.column_names:
            raise UserError(
                "the Hugging Face dataset has parts and a column 'split'; read one of the parts,"
                " or rename the column"
            )
        names = pa.array([_PARTS[part]] * table.num_rows, pa.string())
        tables.append(table.append_column("split", names))
    return pa.concat_tables(tables)


def _table(data: Any) -> pa.Table:
    if not hasattr(data, "__len__"):
        raise UserError(
            "a streaming Hugging Face dataset cannot be read, because it is read more than once;"
            " load it without streaming=True"
        )
    # Its own Arrow format respects `select`, `shuffle` and `filter`, which move no data.
    table: pa.Table = data.with_format("arrow")[:]
    classes = {n: f.names for n, f in data.features.items() if getattr(f, "names", None)}
    return with_class_names(table, classes).replace_schema_metadata(None)


def with_class_names(table: pa.Table, classes: Mapping[str, list[str]]) -> pa.Table:
    """The table with the names of classes in place of their numbers, in these columns."""
    for name, names in classes.items():
        if name in table.column_names and pa.types.is_integer(table.schema.field(name).type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, _class_names(table[name], names))
    return table


def _class_names(codes: pa.ChunkedArray, classes: list[str]) -> pa.Array:
    """A `ClassLabel` column as names; -1 means that the label is missing."""
    return pa.array(
        [None if i is None or i < 0 else classes[i] for i in codes.to_pylist()], pa.string()
    )
