"""Check by digests whether the rows of a release are the codes of a certificate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
DIGITS = (
    12  # hexadecimal: of a million rows against 4,096 codes, none is taken for a code by chance
)
ROWS = 4096


@dataclass(frozen=True)
class Rows:
    """Records that are codes, records that are not, and how many kinds of these there are.

    Kinds are counted up to one more than there are codes.
    """

    codes: int
    others: int
    kinds: int


def digests(codes: FloatArray) -> tuple[str, ...]:
    """A short digest of each code, in order."""
    return tuple(map(_digest, _rows(codes)))


def compare(x: FloatArray, known: Iterable[str]) -> Rows:
    """How many rows of x, (n, d), have one of the `known` digests."""
    known = set(known)
    found: set[bytes] = set()  # rows that are codes, so that each is hashed once
    kinds: set[str] = set()
    others = 0
    for row in _rows(x):
        if row in found:
            continue
        digest = _digest(row)
        if digest in known:
            found.add(row)
            continue
        others += 1
        if len(kinds) <= len(known):
            kinds.add(digest)
    return Rows(len(x) - others, others, len(kinds))


def _rows(x: FloatArray) -> Iterator[bytes]:
    """Each row as the bytes of its float32; -0 is 0, as it may come back from a text file."""
    for start in range(0, len(x), ROWS):
        piece = np.ascontiguousarray(x[start : start + ROWS] + np.float32(0), "<f4")
        yield from (row.tobytes() for row in piece)


def _digest(row: bytes) -> str:
    return hashlib.sha256(row).hexdigest()[:DIGITS]
