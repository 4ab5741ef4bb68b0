"""Attackers that learn from records which the fit never saw.

A release may be balanced on the records it was fitted on and not on others, so they can read more.
"""

from __future__ import annotations

from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

# Attackers learn from three fifths of the records that the fit never saw.
SHARES = (0.5, 0.1, 0.4)


def held_out(data: Dataset, release: Dataset, roles: Roles) -> tuple[Dataset, Dataset]:
    """The test part and its release, divided anew into train, val and test."""
    split = data.part("test").with_split(SHARES, stratify=roles.suppress[:1], grouped=False)
    return split, release.part("test").with_column("split", split.table["split"])


def features_alone(release: Dataset, *, keep: tuple[str, ...] = ()) -> Dataset:
    """A release that was made with its labels, for use inside the house, without them."""
    return release.without([c for c in release.table.column_names if c not in keep])
