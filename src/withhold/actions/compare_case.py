"""The data of a comparison: read, split, encoded once for all methods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from withhold.actions.request import DataOptions
from withhold.audit.read_features import measurable
from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.progress import Progress
from withhold.records.dataset import Dataset
from withhold.records.feasibility import feasibility
from withhold.records.roles import Roles
from withhold.records.table_features import encode_table

CompareKind = Literal["features", "table"]
MOST_READ = 24  # attributes that are read from every release, unless the user names them


@dataclass(frozen=True, eq=False)
class CompareCase:
    """The records with their split; `features` are the same records for methods on features.

    read: the attributes that readers are trained for; notes: what the user should know.
    """

    data: Dataset
    features: Dataset
    roles: Roles
    read: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def kind(self) -> CompareKind:
        """Whether the records are rows of a mixed table."""
        return "table" if self.data.tabular else "features"

    @classmethod
    def of(
        cls, data: Dataset, roles: Roles, readers: tuple[str, ...], progress: Progress
    ) -> CompareCase:
        """Split the data, check the roles, and encode a table."""
        data = data.with_drawn_split(roles.suppress)
        roles.check(data)
        feasibility(data, roles).require()
        notes = []
        able = measurable(data, roles)
        for name in readers:
            if name in roles.suppress:
                raise UserError(f"'{name}' is suppressed; --read names what should stay readable")
            if name not in able:
                hint = did_you_mean(name, able) or f" (readable: {listing(able)})"
                raise UserError(f"--read: '{name}' of {data.name} cannot be measured{hint}")
        read = readers or able[:MOST_READ]
        if len(able) > MOST_READ and not readers:
            notes.append(
                f"Only the first {MOST_READ} of {len(able)} other attributes are read; --read names"
                " others."
            )
        if not read:
            notes.append(
                "No other attribute can be read, so what is left to use is not measured, and no row"
                " is marked as the best."
            )
        features = _features(data, roles, progress) if data.tabular else data
        return cls(data, features, roles, tuple(read), tuple(notes))


def read_data(
    path: Path, kind: CompareKind | None, how: DataOptions, progress: Progress
) -> Dataset:
    """Read the data as features or as a table; by default as what `DataOptions.resolved` finds."""
    if path.is_dir():
        raise UserError(
            f"{path} is a folder of media; compare features of it: withhold extract {path} -o"
            " DATA.parquet"
        )
    return (how.resolved(path) if kind is None else how.of_kind(kind)).read(path, progress)


def _features(data: Dataset, roles: Roles, progress: Progress) -> Dataset:
    """The rows of a table as features, with every column as an attribute."""
    encoded = encode_table(data, roles.suppress, progress=progress)
    names = [f"encoded {i}" for i in range(encoded.dimension)]
    x = np.ascontiguousarray(encoded.x)
    made = Dataset.from_arrays(x, data.table, names=names, name=data.name, group=data.group)
    return replace(made, exclude=data.exclude)
