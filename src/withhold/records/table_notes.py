"""What the owner of a mixed table should know before it is released."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from withhold.records.dataset import Dataset
from withhold.records.misread_columns import list_notes, misread_columns, misread_notes
from withhold.records.shared_ids import shared_id_notes
from withhold.records.spelling import spelling_notes
from withhold.records.tabular import TableColumns
from withhold.records.tabular.column_values import places
from withhold.records.tabular.table_column import TableColumn

_MANY = 0.05  # share of the records of a column with rare values, from which much is lost
_NAMED = 5  # columns


def table_notes(
    dataset: Dataset, columns: TableColumns, suppress: Collection[str]
) -> Iterator[str]:
    """Columns that are left out, numbers that are read as text, rare values and doubtful labels.

    Doubtful are classes that differ only in spelling, and ids that two people share.
    """
    misread = misread_columns(dataset.table, (*columns.names, *columns.dropped))
    for name, why in columns.dropped.items():
        more = "" if name in misread else _shared_id(dataset, name, why)
        if any(c.kind == "vector" and c.name.startswith(name) for c in columns.columns):
            more = "; its embedding takes part"
        yield f"column '{name}' of {dataset.name} is left out: {why}{more}"
    yield from misread_notes(misread, name=dataset.name)
    yield from list_notes(dataset.table, columns.dropped, name=dataset.name)
    for name in suppress:
        if name in dataset.attribute_names:
            yield from spelling_notes(dataset.attribute(name))
    yield from _rare_values(dataset, [c for c in columns.columns if c.name not in misread])
    yield from shared_id_notes(dataset, columns.names, suppress)


def _shared_id(dataset: Dataset, name: str, why: str) -> str:
    if not why.startswith("identifier") or dataset.group is not None:
        return ""
    known = dataset.table[name].drop_null()
    twice = len(known) - int(pc.count_distinct(known).as_py())
    if not twice:
        return ""
    return (
        f"; {twice:,} records repeat the value of another: if it names people, add --group {name},"
        " so that each counts once"
    )


def _rare_values(dataset: Dataset, columns: Sequence[TableColumn]) -> Iterator[str]:
    """Categories that too few records have, in one line; a warning if they are many."""
    found: dict[str, str] = {}
    much = False
    for column in columns:
        if column.kind != "category" or not column.rare:
            continue
        values, rare = column.values or (), set(column.rare)
        place = places(dataset.table[column.name], column)
        count = np.bincount(place[place >= 0], minlength=len(values))
        records = sum(int(count[i]) for i, value in enumerate(values) if value in rare)
        much |= records > _MANY * len(dataset)
        held = f"{len(rare):,} of {len(values):,} values"
        found[column.name] = f"'{column.name}' {held} (in {records:,} of {len(dataset):,} records)"
    if found:
        more = f" and {len(found) - _NAMED:,} more columns" if len(found) > _NAMED else ""
        yield (
            f"{'warning: ' if much else ''}rare values of {dataset.name} do not leave, others take"
            f" their place: {', '.join(list(found.values())[:_NAMED])}{more}"
        )
