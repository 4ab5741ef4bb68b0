"""Checks of a dataset and of names that a user asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.records.splits import PARTS

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset


def no_attribute(name: str, data: Dataset) -> UserError:
    """The error for an unknown attribute: why `data` has none of that name, and what to do."""
    if name in data.layout.columns:
        return _a_feature(name, data)
    if name in data.exclude:
        return UserError(
            f"'{name}' of {data.name} was excluded, so it is not an attribute; remove it from"
            " --exclude (exclude= in Python) to make it one"
        )
    known = data.attribute_names
    hint = did_you_mean(name, known) or f" (it has: {listing(known)})"
    comma = next((c for c in known if "," in c and c.startswith(name)), None)
    if comma is not None:
        hint = f"; put a name with a comma in double quotes: '\"{comma}\"'"
    elif len(known) == 1 and name in known[0]:
        hint = f", which has one column ('{known[0]}'); what separates its fields? name it with"
        hint += " --delimiter"
    return UserError(f"attribute '{name}' is not in {data.name}{hint}")


def checked(data: Dataset) -> Dataset:
    """The dataset; an invalid group, excluded column, multi-label attribute or split is refused."""
    named = [*([data.group] if data.group else []), *data.exclude]
    named += [label for labels in data.multilabel.values() for label in labels]
    for name in named:
        if name in data.layout.columns:
            raise _a_feature(name, data)
        if name not in data.table.column_names:
            known = data.table.column_names
            hint = did_you_mean(name, known) or f" (columns: {listing(known)})"
            raise UserError(f"column '{name}' is not in {data.name}{hint}")
    for name, labels in data.multilabel.items():
        if name in data.table.column_names and name not in labels:
            raise UserError(
                f"'{name}' names both a column of {data.name} and a multi-label attribute;"
                " choose another name for the attribute"
            )
    if data.group and pa.types.is_nested(data.table[data.group].type):
        raise UserError(
            f"group column '{data.group}' of {data.name} is {data.table[data.group].type};"
            " a group must have one value per record"
        )
    parts = data.parts
    if parts is not None and not set(np.unique(parts)) <= set(PARTS):
        odd = sorted(set(np.unique(parts)) - set(PARTS))
        raise UserError(
            f"column 'split' of {data.name} contains {listing(odd)};"
            " it must be train, val or test for every record"
        )
    return data


def _a_feature(name: str, data: Dataset) -> UserError:
    return UserError(
        f"'{name}' is a feature of {data.name}, not an attribute; remove it from the features"
        " (--features, or features= in Python) to make it one"
    )
