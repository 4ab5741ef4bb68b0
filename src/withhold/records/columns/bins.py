"""Bin the values of a column, for tables of columns, codes and classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.columns.column_encoding import EncodedColumn

Codes = npt.NDArray[np.int64]
BINS = 6  # for a column of many values
OWN = 100  # a column with up to this many values is also tested value by value


def binned(encoded: EncodedColumn) -> Codes:
    """Codes of the values if there are few, otherwise of quantile bins; missing is a value."""
    if encoded.distinct <= 3 * BINS:
        return encoded.codes + 1
    ordered = np.sort(encoded.codes[encoded.codes >= 0])
    edges = ordered[(np.arange(1, BINS) * len(ordered)) // BINS]
    place: Codes = np.searchsorted(edges, encoded.codes, side="right") + 1
    return np.where(encoded.codes >= 0, place, 0)


def looks(encoded: EncodedColumn) -> list[Codes]:
    """Codes to test: in bins and, for up to OWN values, also value by value.

    Bins show what neighbouring values share; the parity of a number shows only value by value.
    """
    found = [binned(encoded)]
    if 3 * BINS < encoded.distinct <= OWN:
        found.append(encoded.codes + 1)
    return found
