"""The labels that a table of records has as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import pyarrow as pa

from withhold.core.errors import UserError
from withhold.records.attribute import Attribute, encode, gather


def labels_of(
    names: Iterable[str], table: pa.Table, multilabel: Mapping[str, Sequence[str]], where: str
) -> dict[str, Attribute]:
    """The attributes of these names that the table has as labels."""
    found = {}
    for name in names:
        with suppress(UserError):
            found[name] = label_of(name, table, multilabel, where)
    return {name: attribute for name, attribute in found.items() if attribute is not None}


def label_of(
    name: str, table: pa.Table, multilabel: Mapping[str, Sequence[str]], where: str
) -> Attribute | None:
    """The attribute from its own columns of the table, or None if they are not there."""
    columns = multilabel.get(name, ())
    if columns and set(columns) <= set(table.column_names):
        return gather(name, {c: table[c] for c in columns}, where)
    return encode(name, table[name], where) if name in table.column_names else None
