"""Records that a release lacks: whoever knows who was in the data sees who is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.audit.pairing_evidence import refuse_other_original
from withhold.core.errors import UserError
from withhold.records.columns.column_encoding import encode_column
from withhold.records.columns.tells import how_well_it_tells
from withhold.records.dataset import Dataset
from withhold.release.released_dataset import ReleasedDataset


def without_held_back(
    original: Dataset, release: ReleasedDataset, suppress: Iterable[str]
) -> tuple[Dataset, ReleasedDataset]:
    """The records of the original that the list of a release names, and the release with that list.

    A release may hold records back. Which ones must not reveal a suppressed attribute.
    """
    rows = release.original_rows
    named = np.unique(rows)
    if len(named) != len(rows) or named[0] < 0 or named[-1] >= len(original):
        raise UserError(
            f"the list of rows of {release.name} does not name records of {original.name}, each at"
            " most once; does it belong to another release?"
        )
    refuse_other_original(original, release)
    kept = np.zeros(len(original), bool)
    kept[named] = True
    refuse_telling_loss(original, kept, suppress)
    # The digest was of all records, and has been compared.
    places = np.searchsorted(named, rows)
    return original.rows(named), replace(release, original_rows=places, original_digest=None)


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
