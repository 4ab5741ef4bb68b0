"""The order of the rows of a release. It looks random without the key.

It depends on the key and the content of the rows, never on their order in the source: shuffled
input gives the same release.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint32]


def shuffled_places(digests: Words, key: bytes, counted: Counts | None = None) -> Places:
    """The place of each row in the release, (n,): rows sorted by a keyed mix of their digests.

    The mix depends on all digests together, so that two releases of overlapping data do not show
    their common rows in a common order. Equal rows stay in the order of the source. Nobody can see
    that where they are released alike. Where they are not (samples, and rows that draw by
    themselves), `counted` (n,), the number of equal rows before each, sends them to different
    places: otherwise neighbours would be of one class.
    """
    mixed = Order.of(total_of(digests, counted), len(digests), key).words(digests, counted)
    places = np.empty(len(digests), np.int64)
    places[np.argsort(mixed, kind="stable")] = np.arange(len(digests))
    return places


@dataclass(frozen=True)
class Order:
    """The keyed mix of one release. Rows leave sorted by `words`: all that it needs of all rows is
    a sum, so any process can say where its rows go."""

    first: int
    second: int

    @classmethod
    def of(cls, total: int, records: int, key: bytes) -> Order:
        """total: the sum of `total_of` over all parts of the data."""
        about = (total % 2**64).to_bytes(8, "little") + records.to_bytes(8, "little")
        own = hashlib.blake2b(b"withhold order" + about, key=key[:64], digest_size=16).digest()
        first, second = np.frombuffer(own, "<u8")
        return cls(int(first), int(second))

    def words(self, digests: Words, counted: Words | Counts | None = None) -> Words:
        """What rows are sorted by, (n,)."""
        mixed = _apart(digests, counted)
        with np.errstate(over="ignore"):
            return _mix(_mix(mixed ^ np.uint64(self.first)) + np.uint64(self.second))


def total_of(digests: Words, counted: Words | Counts | None = None) -> int:
    """The sum of the digests of some rows, modulo 2^64."""
    return int(np.add.reduce(_apart(digests, counted), dtype=np.uint64)) if len(digests) else 0


def _apart(digests: Words, counted: Words | Counts | None) -> Words:
    if counted is None:
        return digests
    with np.errstate(over="ignore"):
        return _mix(digests + _mix(counted.astype(np.uint64) + np.uint64(1)))


def occurrences(digests: Words) -> Counts:
    """For each row, how many equal rows come before it, (n,)."""
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))[: len(digests)]
    lengths = np.diff(np.append(starts, len(digests)))
    found = np.empty(len(digests), np.uint32)
    found[order] = np.arange(len(digests)) - np.repeat(starts, lengths)
    return found


def _mix(words: Words) -> Words:
    """The finaliser of SplitMix64: a bijection of 64-bit words whose output looks random."""
    with np.errstate(over="ignore"):
        words = words ^ (words >> np.uint64(30))
        words = words * np.uint64(0xBF58476D1CE4E5B9)
        words = words ^ (words >> np.uint64(27))
        words = words * np.uint64(0x94D049BB133111EB)
        mixed: Words = words ^ (words >> np.uint64(31))
    return mixed
