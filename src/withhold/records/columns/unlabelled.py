"""Records without a label: whether what labelled records show of a column holds for them too."""

from __future__ import annotations

import numpy as np

from withhold.records.attribute import Attribute
from withhold.records.columns.bins import OWN
from withhold.records.columns.encode import EncodedColumn
from withhold.records.columns.tells import how_well_it_tells

SHARE = 0.5  # of the records that must have a label
ALIKE = 0.01  # chance below which labelled and unlabelled records are not alike


def why_not_covered(encoded: EncodedColumn, attribute: Attribute, *, seed: int = 0) -> str | None:
    """Why a column cannot be checked where the attribute has no label, in words; None if it can.

    A column is measured on labelled records. For the others that says something only if the column
    is alike there: with no values of its own, and of the same distribution. (It may still tell of
    them: without labels nobody can measure that.)
    """
    columns = attribute.codes.T if attribute.multilabel else [attribute.codes]
    for known in {(codes >= 0).tobytes(): codes >= 0 for codes in columns}.values():
        missing = int((~known).sum())
        if not missing or not known.any():
            continue
        if known.mean() < SHARE:
            return (
                f"could not be checked: {missing:,} of {len(known):,} rows have no label of"
                f" '{attribute.name}'"
            )
        # Of many different values most are new everywhere: then only being there counts.
        value = encoded.codes if encoded.distinct <= OWN else np.minimum(encoded.codes, 0)
        alone = ~np.isin(value, value[known])
        if alone.any():
            return (
                f"could not be checked: {int(alone.sum()):,} rows without a label of"
                f" '{attribute.name}' have values that no labelled row has"
            )
        labelled = Attribute("label", "categorical", ("missing", "there"), known.astype(np.int64))
        if how_well_it_tells(encoded, labelled, seed=seed).chance < ALIKE:
            return (
                f"could not be checked: {missing:,} rows without a label of '{attribute.name}'"
                " have other values than labelled rows"
            )
    return None
