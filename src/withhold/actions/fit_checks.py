"""What a fit checks: its seed and roles before, and the modifier after."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from withhold.core.errors import UserError
from withhold.methods import Modifier, get_method
from withhold.methods.features.exact.table_rows import OF_ROWS
from withhold.records.checks import no_attribute
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import FILE
from withhold.records.roles import Roles


def check_finite(modifier: Modifier, method: str) -> None:
    """Refuse a training that diverged: its release would be all NaN."""
    for name, array in modifier.state().items():
        if name.startswith(OF_ROWS):
            continue  # values of table columns, in which NaN is a missing value
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise UserError(
                f"the training of '{method}' diverged (its weights are NaN or infinite);"
                " lower the learning_rate, or very large weights of losses"
            )


def checked_seed(seed: Any) -> int:
    """A plain integer, which JSON can hold and every generator accepts."""
    try:
        number = index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise UserError(f"seed must be a whole number, 0 or more, not {seed!r}")
    return number


def check_roles(dataset: Dataset, roles: Roles, method: str) -> None:
    """Refuse roles that do not fit the data. A media filter also takes media without labels."""
    if get_method(method).modifier_type.learned:
        roles.check(dataset)
        return
    known = [n for n in dataset.attribute_names if n != FILE]
    for name in roles.named:
        if known and name not in known:
            raise no_attribute(name, dataset)
