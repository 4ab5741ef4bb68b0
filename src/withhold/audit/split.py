"""Which records attackers fit on, are chosen on and are measured on."""

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
LEAST_TEST = 10  # labelled test records: below, an interval says nothing


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint masks over the records."""

    train: Mask
    val: Mask
    test: Mask

    @classmethod
    def of(cls, dataset: Dataset, seed: int) -> Split:
        """The parts of the data; where it has no val, a tenth of train is set apart.

        By group where there is one and it lies wholly in one part; else by record.
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
        """The same split of some of the records."""
        return Split(self.train[kept], self.val[kept], self.test[kept])

    def with_val(self, among: Mask, groups: Rows | None, seed: int) -> Split:
        """A tenth of `among`, which is in train, becomes val."""
        val = np.zeros_like(self.train)
        val[_tenth(np.flatnonzero(among), groups, seed)] = True
        return replace(self, train=self.train & ~val, val=self.val | val)


@dataclass(frozen=True, eq=False)
class AttackParts:
    """The labelled records of one attribute, and what intervals about it count."""

    train: Rows
    val: Rows
    test: Rows
    units: Rows | None  # the group of every record of the data; None counts records
    note: str = ""

    def on(self, kept: Rows) -> AttackParts:
        """The same parts as places among `kept`, sorted rows that hold them all."""
        train, val, test = (np.searchsorted(kept, r) for r in (self.train, self.val, self.test))
        units = None if self.units is None else self.units[kept]
        return AttackParts(train, val, test, units, self.note)


def parts_of(
    attribute: Attribute, split: Split, groups: Rows | None, group_name: str | None, seed: int
) -> AttackParts:
    """Labelled records of each part; groups kept apart unless the attribute is the group itself.

    Where people are in train and test alike (a split by record) an attacker on gender would learn
    to know the people: train is then cut down to some of them, and test to others.
    """
    known, note = attribute.known, ""
    chosen = split
    # The group itself, or whatever tells it: nobody names a person whom they never met.
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
                f"too few people ('{group_name}') a class to keep them apart: for"
                f" '{attribute.name}' the same people are in train and test"
            )
    if (chosen.val & known).sum() < 2:
        whole = groups is not None and not straddles(groups, chosen)
        chosen = chosen.with_val(chosen.train & known, groups if whole else None, seed)
    rows = [np.flatnonzero(mask & known) for mask in (chosen.train, chosen.val, chosen.test)]
    return AttackParts(rows[0], rows[1], rows[2], groups, note)


def straddles(groups: Rows, split: Split) -> bool:
    """Whether some group is in more than one part."""
    seen = [set(np.unique(groups[m]).tolist()) for m in (split.train, split.val, split.test)]
    return bool(seen[2] & (seen[0] | seen[1]))


def unmeasurable(attribute: Attribute, split: Split) -> str | None:
    """Why this split says nothing about an attribute, whatever the release; None where it does.

    A split by person cannot show whether a person can be recognised: nobody names whom they never
    met, and an audit that passed for that reason would be worth nothing.
    """
    train, test = attribute.rows(split.train), attribute.rows(split.test)
    for part, labels, least in (("train", train, 4), ("test", test, LEAST_TEST)):
        found = int(labels.known.sum())
        if found < least:
            return (
                f"attribute '{attribute.name}' has too few labels in the {part} part: {found},"
                f" where {least} are the least for {'an interval' if part == 'test' else 'a fit'}"
            )
    if not attribute.multilabel and len(np.unique(train.codes[train.known])) < 2:
        return f"attribute '{attribute.name}' has one class only in the train part"
    if not attribute.multilabel and not np.isin(test.codes[test.known], train.codes).any():
        return (
            f"no class of '{attribute.name}' is in both the train and the test part, so no attacker"
            " could be right; split by record"
        )
    return None


def unseen(attribute: Attribute, parts: AttackParts) -> list[str]:
    """Classes of test that attackers never saw in train: nobody can name them."""
    if attribute.multilabel:
        return []
    missing = np.setdiff1d(attribute.codes[parts.test], attribute.codes[parts.train])
    return [attribute.classes[i] for i in missing]


def tells_group(attribute: Attribute, groups: Rows) -> bool:
    """Whether each value of the attribute is of one group only (it is the group, or finer)."""
    if attribute.multilabel:
        return False
    known = attribute.known
    pairs = np.unique(np.stack([attribute.codes[known], groups[known]]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(pairs[0])))


def _groups_apart(split: Split, groups: Rows) -> Split:
    """Of each part the records of its own people only: three fifths, a fifth, a fifth."""
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
