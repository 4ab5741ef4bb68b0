"""What the owner of a mixed table should know before it is released."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow.compute as pc

from withhold.records.dataset import Dataset
from withhold.records.misread_columns import list_notes, misread_columns, misread_notes
from withhold.records.spelling import spelling_notes
from withhold.records.tabular import TableColumns

SELDOM = 0.05  # of the people with several records, so few have two classes if that is a mistake


def table_notes(
    dataset: Dataset, columns: TableColumns, suppress: Collection[str]
) -> Iterator[str]:
    """Columns that are left out, numbers that are read as text, and doubtful labels.

    Doubtful are classes that differ only in spelling, and ids that two people share.
    """
    misread = misread_columns(dataset.table, columns.dropped)
    for name, why in columns.dropped.items():
        more = "" if name in misread else _shared_id(dataset, name, why)
        if any(c.kind == "vector" and c.name.startswith(name) for c in columns.columns):
            more = "; its embedding takes part"
        yield f"column '{name}' of {dataset.name} is left out: {why}{more}"
    yield from misread_notes(dataset.table, (*columns.names, *columns.dropped), name=dataset.name)
    yield from list_notes(dataset.table, columns.dropped, name=dataset.name)
    for name in suppress:
        if name in dataset.attribute_names:
            yield from spelling_notes(dataset.attribute(name))
        yield from _two_people(dataset, name)


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


def _two_people(dataset: Dataset, name: str) -> Iterator[str]:
    """A warning if a few people have records of two classes where all others have one."""
    groups = dataset.group_codes
    if groups is None or name not in dataset.attribute_names or name == dataset.group:
        return
    attribute = dataset.attribute(name)
    if attribute.multilabel:
        return
    known = attribute.known
    person = groups[known]
    pairs = np.unique(np.stack([person, attribute.codes[known]]), axis=1)[0]
    classes, records = np.bincount(pairs), np.bincount(person)
    several = int((records > 1).sum())
    mixed = np.flatnonzero(classes > 1)
    if 0 < len(mixed) <= SELDOM * several:
        row = int(np.flatnonzero(groups == mixed[0])[0])
        yield (
            f"warning: {len(mixed):,} of {several:,} people with several records have more than one"
            f" class of '{name}', e.g. {dataset.table[dataset.group][row].as_py()!r}: do two people"
            f" share an id of '{dataset.group}'? All records of an id count as one person"
        )
