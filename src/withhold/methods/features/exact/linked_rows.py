"""People with several rows: what rows of one person tell together is more than one row tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from withhold.methods.channel import IntArray
from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.tells import MOST, Telling, how_well_it_tells
from withhold.records.columns.within_people import PersonLabels
from withhold.records.dataset import Dataset
from withhold.records.record_sets import AGREE
from withhold.records.roles import Roles


def linked_notes(
    dataset: Dataset, roles: Roles, people: IntArray, *, by_person: bool = False
) -> Iterator[str]:
    """Warnings if a suppressed attribute belongs to people who have several rows.

    people (n,); by_person: whether a person draws one code, so that the codes need no warning.
    The balance is over single rows: every class uses every code in the same share. How
    the codes of one person go together is not balanced. If, say, the rows of one class are all
    alike within a person and those of another are not, five rows of a person tell the class.
    How many rows a person has is not changed by any method.
    """
    if dataset.group is None:
        return
    rows = np.unique(people, return_counts=True)[1]
    several = int((rows > 1).sum())
    if not several:
        return
    some = _of_some_people(people)
    suppressed = [dataset.attribute(n) for n in roles.suppress if n != dataset.group]
    single = [a for a in suppressed if not a.multilabel and a.known[some].any()]
    labels = {a.name: PersonLabels.of(a.codes[some], people[some]) for a in single}
    own = [a for a in single if labels[a.name].of_people]
    if own and not by_person:
        all_rows = all(labels[a.name].agree >= AGREE for a in own)
        yield (
            f"warning: {several:,} people of '{dataset.group}' have several rows (up to"
            f" {rows.max():,}), and {', '.join(repr(a.name) for a in own)}"
            f" {'is' if len(own) == 1 else 'are'} the same in {'all' if all_rows else 'most'} rows"
            " of a person: whoever can tell which rows are of one person may read more from them"
            " than from one row; draw one code per person (--set per=person), release one row per"
            f" person (pandas: df.groupby({dataset.group!r}).sample(1)), or preserve less"
        )
    for attribute in own:
        told = _told_by_count(replace(attribute, codes=labels[attribute.name].codes), people[some])
        if told.tells:
            yield (
                f"warning: the number of rows of a person of '{dataset.group}' tells"
                f" '{attribute.name}' ({100 * told.accuracy:.0f} % right,"
                f" {100 * told.majority:.0f} % by guessing): whoever can tell which rows are of one"
                " person can count them, and no method changes that; release equally many rows of"
                f" every person, such as one (pandas: df.groupby({dataset.group!r}).sample(1))"
            )


def _told_by_count(attribute: Attribute, people: IntArray) -> Telling:
    """What the number of rows of a person tells of an attribute of people (n,)."""
    _, first, count = np.unique(people, return_index=True, return_counts=True)
    codes = np.unique(count, return_inverse=True)[1].reshape(-1).astype(np.int64)
    column = EncodedColumn(count[:, None].astype(np.float32), "number", codes)
    return how_well_it_tells(column, attribute.rows(first))


def _of_some_people(people: IntArray) -> IntArray:
    """The rows of as many people as have MOST rows together, of people (n,)."""
    _, member, count = np.unique(people, return_inverse=True, return_counts=True)
    order = np.random.default_rng([0, 0x9E0]).permutation(len(count))
    kept = np.zeros(len(count), bool)
    kept[order[np.append(0, np.cumsum(count[order])[:-1]) < MOST]] = True
    return np.flatnonzero(kept[member.reshape(-1)])
