"""What all columns of a table together reveal about an attribute."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.tells import Telling, how_well_it_tells

Codes = npt.NDArray[np.int64]


def how_well_rows_tell(
    x: npt.NDArray[np.float32], attribute: Attribute, *, groups: Codes | None = None
) -> Telling:
    """The cross-fitted guess of an attribute from whole rows, x (n, d).

    Dropping the column of a secret is not enough where the other columns together reveal it, even
    if none does alone.
    """
    row = np.arange(len(x), dtype=np.int64)  # no two rows are alike
    return how_well_it_tells(EncodedColumn(x, "row", row), attribute, groups=groups)
