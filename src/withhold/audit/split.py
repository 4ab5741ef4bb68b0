"""The records on which attackers are fitted, chosen and measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.splits import assign_parts

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
LEAST_TEST = 10  # labelled test records; with fewer, an interval says nothing


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint masks over the records."""

    train: Mask
    val: Mask
    test: Mask

    @classmethod
    def of(cls, dataset: Dataset, seed: int) -> Split:
        """The parts of the data; if it has no val, a tenth of train becomes val.

        Whole groups are moved if no group is in both train and test; otherwise, records.
        """
        parts = dataset.parts
        assert parts is not None
        train, val, test = (parts == p for p in ("train", "val", "test"))
        if not test.any() or not train.any():
            raise UserError(
                f"column 'split' of {dataset.name} has no "
                f"{'test' if train.any() else 'train'} records, so nothing can be measured"
            )
        split = cls(train, val, test)
        if val.any():
            return split
        groups = dataset.group_codes
        whole = groups is not None and not straddles(groups, split)
        return split.with_val(train, groups if whole else None, seed)

    def on(self, kept: Rows) -> Split:
        """The same split for the rows `kept`."""
        return Split(self.train[kept], self.val[kept], self.test[kept])

    def with_val(self, among: Mask, groups: Rows | None, seed: int) -> Split:
        """Move a tenth of `among`, a part of train, to val."""
        val = np.zeros_like(self.train)
        val[_tenth(np.flatnonzero(among), groups, seed)] = True
        return replace(self, train=self.train & ~val, val=self.val | val)


@dataclass(frozen=True, eq=False)
class AttackParts:
    """The labelled records of one attribute by part, and the units that intervals count."""

    train: Rows
    val: Rows
    test: Rows
    units: Rows | None  # the group of every record of the data; None: intervals count records
    note: str = ""

    def on(self, kept: Rows) -> AttackParts:
        """The same parts as positions in `kept`, which is sorted and contains all of them."""
        train, val, test = (np.searchsorted(kept, r) for r in (self.train, self.val, self.test))
        units = None if self.units is None else self.units[kept]
        return AttackParts(train, val, test, units, self.note)


def parts_of(
    attribute: Attribute, split: Split, groups: Rows | None, group_name: str | None, seed: int
) -> AttackParts:
    """Labelled records of each part; groups are kept apart unless the attribute is the group.

    If the same people are in train and test (a split by record), an attacker on gender would learn
    to recognise the people. Train is then reduced to some people, and test to others.
    """
    known, note = attribute.known, ""
    chosen = split
    # An attribute that identifies the group needs the same people in train and test.
    if groups is not None and not tells_group(attribute, groups) and straddles(groups, split):
        apart = _groups_apart(split, groups)
        if unmeasurable(attribute, apart) is None:
            chosen = apart
            note = (
                f"people ('{group_name}') are in both train and test; for '{attribute.name}'"
                " attackers were fitted on some people and measured on others"
            )
        else:
            note = (
                f"too few people ('{group_name}') per class to keep them apart: for"
                f" '{attribute.name}' the same people are in train and test"
            )
    if (chosen.val & known).sum() < 2:
        whole = groups is not None and not straddles(groups, chosen)
        chosen = chosen.with_val(chosen.train & known, groups if whole else None, seed)
    rows = [np.flatnonzero(mask & known) for mask in (chosen.train, chosen.val, chosen.test)]
    return AttackParts(rows[0], rows[1], rows[2], groups, note)


def straddles(groups: Rows, split: Split) -> bool:
    """Whether some group is both in test and in train or val."""
    seen = [set(np.unique(groups[m]).tolist()) for m in (split.train, split.val, split.test)]
    return bool(seen[2] & (seen[0] | seen[1]))


def unmeasurable(attribute: Attribute, split: Split) -> str | None:
    """Why this split cannot measure an attribute, for any release; None if it can.

    A split by person cannot show whether a person can be recognised: no attacker can name a person
    who is not in train. An audit that passes for that reason is worth nothing.
    """
    train, test = attribute.rows(split.train), attribute.rows(split.test)
    for part, labels, least in (("train", train, 4), ("test", test, LEAST_TEST)):
        found = int(labels.known.sum())
        if found < least:
            return (
                f"attribute '{attribute.name}' has too few labels in the {part} part: {found}, but"
                f" {'an interval' if part == 'test' else 'a fit'} needs at least {least}"
            )
    if not attribute.multilabel and len(np.unique(train.codes[train.known])) < 2:
        return f"attribute '{attribute.name}' has only one class in the train part"
    if not attribute.multilabel and not np.isin(test.codes[test.known], train.codes).any():
        return (
            f"no class of '{attribute.name}' is in both the train and the test part, so no attacker"
            " could be right; split by record"
        )
    return None


def unseen(attribute: Attribute, parts: AttackParts) -> list[str]:
    """Classes of test that are not in train, so that no attacker can name them."""
    if attribute.multilabel:
        return []
    missing = np.setdiff1d(attribute.codes[parts.test], attribute.codes[parts.train])
    return [attribute.classes[i] for i in missing]


def tells_group(attribute: Attribute, groups: Rows) -> bool:
    """Whether each value of the attribute belongs to one group only (it is the group, or finer)."""
    if attribute.multilabel:
        return False
    known = attribute.known
    pairs = np.unique(np.stack([attribute.codes[known], groups[known]]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(pairs[0])))


def _groups_apart(split: Split, groups: Rows) -> Split:
    """Deal people to train, val and test (three fifths, a fifth, a fifth), and keep in each part
    only the records of its own people."""
    names, member = np.unique(groups, return_inverse=True)
    dealt = assign_parts(len(names), seed=0)[member]
    return Split(
        (split.train | split.val) & (dealt == "train"),
        (split.train | split.val) & (dealt == "val"),
        split.test & (dealt == "test"),
    )


def _tenth(rows: Rows, groups: Rows | None, seed: int) -> Rows:
    rng = np.random.default_rng([seed, 0xA1])
    if groups is None:
        return rng.permutation(rows)[: max(len(rows) // 10, 1)]
    names = rng.permutation(np.unique(groups[rows]))
    return rows[np.isin(groups[rows], names[: max(len(names) // 10, 1)])]
