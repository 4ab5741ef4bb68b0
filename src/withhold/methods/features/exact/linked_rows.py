"""People with several rows: what rows of one person tell together is more than one row tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from withhold.methods.channel import IntArray
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

_SAME = 0.98  # share of the people with several rows who have one class; others may be mistakes


def linked_notes(
    dataset: Dataset, roles: Roles, people: IntArray, *, by_person: bool = False
) -> Iterator[str]:
    """A warning if a suppressed attribute is constant within people who have several rows.

    people (n,); by_person: whether a person draws one code, so that there is nothing to warn of.
    The balance is over single rows: every class uses every code in the same share. How
    the codes of one person go together is not balanced. If, say, the rows of one class are all
    alike within a person and those of another are not, five rows of a person tell the class.
    """
    if dataset.group is None or by_person:
        return
    rows = np.unique(people, return_counts=True)[1]
    several = int((rows > 1).sum())
    names = [n for n in roles.suppress if n != dataset.group]
    same = [f"'{n}'" for n in names if _is_constant(dataset.attribute(n), people)]
    if several and same:
        yield (
            f"warning: {several:,} people of '{dataset.group}' have several rows (up to"
            f" {rows.max():,}), and {', '.join(same)} {'is' if len(same) == 1 else 'are'} the same"
            " in all rows of a person: whoever can tell which rows are of one person may read more"
            " from them than from one row; draw one code per person (--set per=person), release one"
            f" row per person (pandas: df.groupby({dataset.group!r}).sample(1)), or preserve less"
        )


def _is_constant(attribute: Attribute, people: IntArray) -> bool:
    if attribute.multilabel:
        return False
    known = attribute.known
    person = np.unique(people[known], return_inverse=True)[1].reshape(-1)
    pairs = np.unique(np.stack([person, attribute.codes[known]]), axis=1)[0]
    several = np.bincount(person) > 1
    return bool(several.any() and (np.bincount(pairs)[several] == 1).mean() >= _SAME)
