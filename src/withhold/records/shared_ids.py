"""Ids that two people may share: rows of one id that contradict each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.dataset import Dataset

SELDOM = 0.05  # of the people with several records, so few contradict themselves by mistake
_COLUMNS = 2  # in which a person must contradict themselves: one may have changed, as an address
_NAMED = 3

Ints = npt.NDArray[np.int64]


def shared_id_notes(
    dataset: Dataset, columns: Sequence[str], suppress: Collection[str]
) -> Iterator[str]:
    """A warning if a few ids of `--group` seem to be of two people.

    Nothing proves that. It is likely if a column has one value in almost every person with several
    records, and several values in a few: a suppressed attribute alone is enough, of other columns
    two must contradict themselves in the same person. Missing values contradict nothing.
    """
    groups = dataset.group_codes
    if groups is None:
        return
    several = int((np.bincount(groups) > 1).sum())
    order = np.argsort(groups, kind="stable")
    known = [n for n in (*suppress, *columns) if n in dataset.table.column_names]
    seldom: dict[str, Ints] = {}
    for name in dict.fromkeys(n for n in known if n != dataset.group):
        column = dataset.table[name]
        if pa.types.is_nested(column.type):
            continue
        mixed = _mixed(column, groups, order)
        if 0 < len(mixed) <= SELDOM * several:
            seldom[name] = mixed
    for name in (n for n in suppress if n in seldom):
        yield _said(dataset, seldom[name], several, f"class of '{name}'")
    others = {n: mixed for n, mixed in seldom.items() if n not in suppress}
    times = np.bincount(np.concatenate([np.zeros(0, np.int64), *others.values()]))
    twice = np.flatnonzero(times >= _COLUMNS)
    if len(twice):
        names = [f"'{n}'" for n, mixed in others.items() if np.isin(mixed, twice).any()]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield _said(dataset, twice, several, f"value of {', '.join(names[:_NAMED])}{more}")


def _mixed(column: pa.ChunkedArray, groups: Ints, order: Ints) -> Ints:
    """The people whose records have more than one value. order: records, person by person."""
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    codes = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    value = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)[order]
    person, value = groups[order][value >= 0], value[value >= 0]
    differs = (person[1:] == person[:-1]) & (value[1:] != value[:-1])
    return np.unique(person[1:][differs])


def _said(dataset: Dataset, people: Ints, several: int, what: str) -> str:
    assert dataset.group is not None
    groups = dataset.group_codes
    row = int(np.argmax(groups == people[0]))
    return (
        f"warning: {len(people):,} of {several:,} people with several records have more than one"
        f" {what}, e.g. {dataset.table[dataset.group][row].as_py()!r}: do two people share an id"
        f" of '{dataset.group}'? All records of an id count as one person"
    )
