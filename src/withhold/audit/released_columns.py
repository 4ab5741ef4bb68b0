"""The columns of a release beside its features, encoded as an attacker would."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from withhold.audit import precision
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.feature_views import FeatureViews
from withhold.audit.findings import Column
from withhold.audit.pairing import PairedRelease
from withhold.audit.split import Rows
from withhold.records.column_codes import ColumnCodes
from withhold.records.columns.column_encoding import EncodedColumn, encode_column
from withhold.records.set_features import distinct_rows
from withhold.records.table_features import AS_RELEASED
from withhold.records.tables import RECORD

_WIDEST = 128  # numbers for all columns of a record together
_MOST = 512  # encoded numbers of one column that are looked at
_LEAST = 8  # numbers for one column, if there are many columns


@dataclass(frozen=True, eq=False)
class BesideFeatures:
    """The columns of some records as numbers, to be read beside the features.

    rows (m,): the records, sorted; x (m, d): the numbers of columns that are not also features,
    standardised; same (m,): equal numbers for records that are equal in all these columns. codes:
    all columns, by the equality and the order of their values.
    """

    rows: Rows
    x: FloatArray
    same: Rows
    codes: ColumnCodes | None = None

    @classmethod
    def of(cls, matched: PairedRelease, rows: Rows, *, seed: int) -> BesideFeatures | None:
        """All columns of the release; None if there are none."""
        encoded, _ = encode_released(matched, rows, seed=seed)
        if not encoded:
            return None
        values = [one for name, one in encoded.items() if name != precision.NAME]
        columns = ColumnCodes.of((one.codes, one.binned()) for one in values)
        apart = [one for name, one in encoded.items() if not name.endswith(AS_RELEASED)]
        if not apart:
            return cls(rows, np.zeros((len(rows), 0), np.float32), np.zeros_like(rows), columns)
        most = max(_WIDEST // len(apart), _LEAST)
        x = np.concatenate([_narrow(one.x, most) for one in apart], axis=1)
        codes = np.stack([one.codes for one in apart], axis=1)
        return cls(rows, x, distinct_rows(codes.astype(np.float32)), columns)

    def on(self, rows: Rows) -> BesideFeatures:
        """The same columns for some of the records, in the order of `rows`."""
        at = np.searchsorted(self.rows, rows)
        codes = None if self.codes is None else self.codes.on(at)
        return BesideFeatures(rows, self.x[at], self.same[at], codes)


def encode_released(
    matched: PairedRelease, rows: Rows, *, seed: int
) -> tuple[dict[str, EncodedColumn], dict[str, Column]]:
    """Every column except the features for `rows`, and those that cannot be attacked."""
    below = precision.below_float32(matched.released)
    encoded: dict[str, EncodedColumn] = {}
    skipped: dict[str, Column] = {}
    table = matched.release.table.take(pa.array(rows))
    for name in table.column_names:
        if name == RECORD:
            continue
        one = encode_column(table[name], seed=seed)
        if one.distinct == 0 or not _varies(one):
            why = "it is empty" if one.distinct == 0 else "it is the same in every record"
            skipped[name] = Column(name=name, kind=one.kind, attacked=False, why_not=why)
        else:
            encoded[name] = one
    if below is not None:
        x = below[matched.place[rows]]
        encoded[precision.NAME] = EncodedColumn(x, "number", np.arange(len(rows)))
    elif precision.may_have(matched.released) and matched.released.path is None:
        why = "the release was not read from a file; audit the released file"
        skipped[precision.NAME] = Column(
            name=precision.NAME, kind="number", attacked=False, why_not=why
        )
    return encoded, skipped


def scaled(x: FloatArray) -> FloatArray:
    """x (n, d), each column standardised."""
    return FeatureViews.of(x).see("standard", x)


def _varies(one: EncodedColumn) -> bool:
    return one.distinct > 1 or bool((one.codes < 0).any() and (one.codes >= 0).any())


def _narrow(x: FloatArray, most: int) -> FloatArray:
    """One encoded column x (n, k) in at most so many numbers, standardised.

    If there are more, half are the first ones, such as the value and its rank, and half are
    principal directions of all.
    """
    z = scaled(x[:, :_MOST])
    if z.shape[1] <= most:
        return z
    some = z[:20_000].astype(np.float64)
    _, axes = np.linalg.eigh(some.T @ some)
    main = z @ np.ascontiguousarray(axes[:, ::-1][:, : most // 2], dtype=np.float32)
    return np.concatenate([z[:, : most // 2], scaled(main)], axis=1)
