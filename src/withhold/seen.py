"""What a fit has seen: enough to recognise a record or a group, and nothing to read it from.

A certificate counts records that the fit never saw. So a bundle remembers the others, as keyed
hashes: 64 bits of BLAKE2b for each record's features and each group's name.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.attribute import as_whole_numbers
from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.keyed import keyed_words

Hashes = npt.NDArray[np.uint64]
CHANCE = 1e-6  # how rarely honest data may be refused for its natural twins
ROWS = 16384


@dataclass(frozen=True, eq=False)
class Seen:
    """Hashes of the records (sorted, repeats kept) and the groups (sorted) of a fit."""

    key: bytes
    records: Hashes
    groups: Hashes

    @classmethod
    def of(cls, dataset: Dataset, key: bytes) -> Seen:
        """What a fit that used all of `dataset` has seen; `key` is the modifier's."""
        own = hashlib.blake2b(b"withhold seen", key=key[:64], digest_size=32).digest()
        return cls(own, np.sort(_records(own, dataset.x)), _groups(own, dataset))

    @property
    def twins(self) -> float:
        """The share of records whose value another one has too: what an honest table repeats."""
        if len(self.records) < 2:
            return 0.0
        same = self.records[1:] == self.records[:-1]
        return float((np.append(same, False) | np.append(False, same)).mean())

    def overlap(self, x: npt.NDArray[np.float32]) -> int:
        """How many of the records x: (n, d) have a value that the fit saw."""
        return _among(_records(self.key, x), self.records)

    def seen_groups(self, dataset: Dataset) -> int:
        """How many groups of `dataset` the fit saw."""
        return _among(_groups(self.key, dataset), self.groups)

    def require_new(self, dataset: Dataset) -> None:
        """Refuse records of the fit; a share of natural twins, as among its own, is let pass."""
        from scipy.stats import binom  # half a second to import

        found, n = self.overlap(dataset.x), len(dataset)
        if found > binom.ppf(1 - CHANCE, n, self.twins):
            raise UserError(
                f"{found:,} of the {n:,} records of {dataset.name} were used in the fit, so they"
                " can certify nothing; give records that it never saw, or the very file of the fit"
                " (its test part is taken, with the same --test and --group)"
            )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For the bundle."""
        key = np.frombuffer(self.key, np.uint8)
        return {"groups": self.groups, "key": key, "records": self.records}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Seen:
        """What `arrays` wrote."""
        return cls(
            arrays["key"].tobytes(),
            arrays["records"].astype(np.uint64),
            arrays["groups"].astype(np.uint64),
        )


def _records(key: bytes, x: npt.NDArray[np.float32]) -> Hashes:
    pieces = [
        np.ascontiguousarray(keyed_words(key, x[at : at + ROWS], 2)).view("<u8").reshape(-1)
        for at in range(0, len(x), ROWS)
    ]
    return np.concatenate([np.empty(0, np.uint64), *pieces])


def _groups(key: bytes, dataset: Dataset) -> Hashes:
    """Of the names as text, so that 5 in one file is 5 in another; a missing name is nobody's."""
    if dataset.group is None:
        return np.empty(0, np.uint64)
    column = dataset.table[dataset.group]
    column = as_whole_numbers(column) if pa.types.is_floating(column.type) else column
    names = {str(v).encode() for v in column.unique().to_pylist() if v is not None}
    digests = (hashlib.blake2b(name, key=key, digest_size=8).digest() for name in names)
    return np.sort(np.frombuffer(b"".join(digests), "<u8").astype(np.uint64))


def _among(hashes: Hashes, known: Hashes) -> int:
    return int(np.isin(hashes, known).sum())
