"""Records that a release lacks: whoever knows who was in the data sees who is missing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.records.columns.column_encoding import encode_column
from withhold.records.columns.tells import how_well_it_tells
from withhold.records.dataset import Dataset


def refuse_telling_loss(
    original: Dataset, kept: npt.NDArray[np.bool_], suppress: Iterable[str]
) -> None:
    """Refuse a release where the missing records reveal a suppressed attribute.

    kept: (n,), which records of the original are in the release. An anonymiser may fail on one kind
    of people; the records that are left would be audited as if nothing had happened.
    """
    if kept.all():
        return
    there = encode_column(pa.chunked_array([pa.array(kept)]), seed=0)
    for name in suppress:
        if name not in original.attribute_names:
            continue
        told = how_well_it_tells(there, original.attribute(name))
        if told.tells:
            raise UserError(
                f"{int((~kept).sum()):,} of {len(kept):,} records of {original.name} are not in the"
                f" release, and which ones reveals '{name}' ({100 * told.accuracy:.0f} % right,"
                f" guessing {100 * told.majority:.0f} %); to audit the others alone, remove these"
                " from the original too"
            )
