"""Whether a measurement of a column on labelled records also holds for unlabelled ones."""

from __future__ import annotations

import numpy as np

from withhold.records.attribute import Attribute
from withhold.records.columns.column_encoding import OWN, EncodedColumn
from withhold.records.columns.tells import how_well_it_tells

SHARE = 0.5  # share of the records that must have a label
ALIKE = 0.01  # p-value below which labelled and unlabelled records count as different


def why_not_covered(encoded: EncodedColumn, attribute: Attribute, *, seed: int = 0) -> str | None:
    """Why a column cannot be checked for records without a label, in words; None if it can.

    A column is measured on labelled records. The result carries over to the others only if the
    column has no other values there and the same distribution. (It may still reveal something
    about them; without labels that cannot be measured.)
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
        # With many different values most are new everywhere, so compare only missingness.
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
