"""Statistics of several columns together in sets of records of one person.

They are few and quick to compute, so that all pairs and triples of columns can be tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.record_sets import Rows

FloatArray = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int64]
VALUES, FEW = 12, 20  # bins of a statistic; fewer different values than FEW are not binned
_ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
_SEEN = 600  # values of a statistic from which the edges of its bins are computed


@dataclass(frozen=True, eq=False)
class SetColumn:
    """One column on sets (p, r) of records of one person.

    equal: (p, r, bytes) for every record, a bit for each record of the set with the same value, for
    each way to look at the values. order, parity: (p, r) the rank of the value, standardized, and
    whether it is odd (1 or -1). often: (p,) or (p * r,) how often values recur, in three bins.
    """

    equal: tuple[Bits, ...]
    order: FloatArray
    parity: FloatArray
    often: Codes
    two_values: bool

    @classmethod
    def of(cls, encoded: EncodedColumn, sets: Rows, *, by_record: bool) -> SetColumn:
        """The column on the sets; for statistics of every record if `by_record`."""
        equal = []
        for codes in encoded.looks():
            same = codes[sets]
            equal.append(np.packbits(same[:, :, None] == same[:, None, :], axis=2))
        rank = np.unique(encoded.codes, return_inverse=True)[1].reshape(-1)
        order = (rank - rank.mean()) / max(float(rank.std()), 1e-12)
        often = in_bins(_count(equal[-1], by_record), 3, few=3)
        parity = (2 * (rank % 2) - 1).astype(np.float32)
        order = order.astype(np.float32)[sets]
        return cls(tuple(equal), order, parity[sets], often, bool(rank.max() == 1))


def statistics(columns: Sequence[SetColumn], *, by_record: bool) -> Iterator[Codes]:
    """Each statistic of some columns in bins: (p,) of every set, or (p * r,) of every record.

    - How many pairs of records (or records with this one) agree in all columns. An XOR of flags
      that is constant in a set leaves half of the combinations.
    - How often values recur in each of the columns, joined.
    - The mean product of the ranks, and of the parities. For two columns also the covariance in
      the set, so that a measure that rises or falls with the date is seen.
    Every record has, instead of a mean product, its own product minus the mean, and times the sum
    of the others: whether it is like the others of the person.
    """
    for look in range(max(len(c.equal) for c in columns) if len(columns) == 2 else 1):
        equal = reduce(np.bitwise_and, [c.equal[min(look, len(c.equal) - 1)] for c in columns])
        yield in_bins(_count(equal, by_record))
    yield reduce(lambda joined, c: 3 * joined + c.often, columns, np.zeros_like(columns[0].often))
    products = [reduce(np.multiply, [c.parity for c in columns])]
    if not all(c.two_values for c in columns):
        products.append(reduce(np.multiply, [c.order for c in columns]))
    if len(columns) == 2:
        centred = [c.order - c.order.mean(axis=1, keepdims=True) for c in columns]
        products.append(centred[0] * centred[1])
    for product in products:
        total = product.sum(axis=1, keepdims=True)
        if not by_record:
            yield in_bins(total[:, 0])
            continue
        yield in_bins((product - total / product.shape[1]).reshape(-1))
        yield in_bins((product * (total - product)).reshape(-1))


def most_statistics(size: int, *, by_record: bool) -> int:
    """How many statistics `size` columns have at most."""
    products = 3 if size == 2 else 2
    return (3 if size == 2 else 2) + products * (2 if by_record else 1)


def in_bins(values: npt.NDArray[np.generic], bins: int = VALUES, *, few: int = FEW) -> Codes:
    """Codes (n,) of the values if there are less than `few`, otherwise of bins of equal size."""
    some = np.sort(values[:: max(len(values) // _SEEN, 1)].astype(np.float64).round(4))
    edges = np.unique(some)[1:]
    if len(edges) >= few:
        edges = np.unique(some[(np.arange(1, bins) * len(some)) // bins])
    # Just below the value, because equal values may differ by a rounding error.
    edges -= 1e-4 * np.maximum(np.abs(edges), 1.0)
    codes: Codes = np.searchsorted(edges, values, side="right").astype(np.int64)
    return codes


def _count(equal: Bits, by_record: bool) -> Codes:
    """The number of bits of each record, (p * r,), or of each set, (p,)."""
    bits = _ONES[equal]
    shape = (-1, equal.shape[2]) if by_record else (len(equal), -1)
    count: Codes = bits.reshape(shape).sum(axis=1, dtype=np.int64)
    return count
