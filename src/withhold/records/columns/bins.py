"""The values of a column in few cells, for tables of columns, codes and classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.columns.encode import EncodedColumn

Codes = npt.NDArray[np.int64]
BINS = 6  # of a column of many values
OWN = 100  # values up to which a column is also looked at value by value


def binned(encoded: EncodedColumn) -> Codes:
    """Codes of a few values, or of bins by the place in sorted order; missing is a value."""
    if encoded.distinct <= 3 * BINS:
        return encoded.codes + 1
    ordered = np.sort(encoded.codes[encoded.codes >= 0])
    edges = ordered[(np.arange(1, BINS) * len(ordered)) // BINS]
    place: Codes = np.searchsorted(edges, encoded.codes, side="right") + 1
    return np.where(encoded.codes >= 0, place, 0)


def looks(encoded: EncodedColumn) -> list[Codes]:
    """Ways to put the values into cells: in bins and, of up to OWN values, each for itself.

    Bins show what neighbouring values share; the parity of a number shows in its own values alone.
    """
    found = [binned(encoded)]
    if 3 * BINS < encoded.distinct <= OWN:
        found.append(encoded.codes + 1)
    return found
