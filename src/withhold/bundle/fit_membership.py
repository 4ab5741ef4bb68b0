"""A record of what a fit saw, to recognise its records and groups later.

A certificate counts records that the fit never saw, so the records of the fit must be recognised.
That includes records that were exported again: rounded, stored as float16, rescaled, normalised.
The file holds 64 bits of keyed BLAKE2b for each record and group. For a sample of the records it
also holds a keyed projection to a few numbers (see `withhold.bundle.near_twins`).

This file and the key together show whether a given record or group was in the fit. The projections
also reveal something about the records themselves. The file is for the owner of the fit alone. A
bundle works without it, but cannot then certify records of another file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.near_twins import Sketches
from withhold.core.errors import UserError
from withhold.core.keyed import keyed_words, other_key
from withhold.records.attribute import as_whole_numbers
from withhold.records.dataset import Dataset

Hashes = npt.NDArray[np.uint64]
CHANCE = 1e-6  # how rarely honest data may be refused for its natural twins
ROWS = 16384


@dataclass(frozen=True, eq=False)
class FitMembership:
    """Hashes of the records (sorted, repeats kept) and the groups (sorted), and sketches."""

    key: bytes
    records: Hashes
    groups: Hashes
    sketches: Sketches

    @classmethod
    def of(cls, dataset: Dataset, key: bytes) -> FitMembership:
        """The membership of a fit that used all of `dataset`; `key` is the key of the modifier."""
        own = other_key(key, "withhold fit membership")
        hashes = _records(own, dataset.x)
        return cls(own, np.sort(hashes), _groups(own, dataset), Sketches.of(dataset.x, hashes, own))

    @property
    def twins(self) -> float:
        """The share of records that equal another record: how often honest data repeats itself."""
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

    def require_new(self, dataset: Dataset) -> float:
        """Refuse records of the fit, as they were or exported again.

        Honest data can repeat values, or come close to them. It passes if that happens no more
        often than among the records of the fit. Returns the share of records that are near-twins
        of a record of the fit.
        """
        from scipy.stats import binom  # half a second to import

        found, n = self.overlap(dataset.x), len(dataset)
        way_out = (
            "so they cannot be used to certify it; give records that it never saw, or the same file"
            " as the fit, with the same --test and --group (its test part is used)"
        )
        if found > binom.ppf(1 - CHANCE, n, self.twins):
            raise UserError(
                f"{found:,} of the {n:,} records of {dataset.name} were used in the fit, {way_out}"
            )
        near = self.sketches.near_twins(dataset.x)
        if near.above_chance(CHANCE):
            raise UserError(
                f"about {100 * near.share:.0f} % of the {n:,} records of {dataset.name} are nearly"
                f" equal to records of the fit (as after rounding or rescaling), {way_out}"
            )
        return near.share

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to save in the bundle."""
        return {"groups": self.groups, "records": self.records} | self.sketches.arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]], key: bytes) -> FitMembership:
        """Read what `arrays` returned; `key` is the key of the modifier."""
        own = other_key(key, "withhold fit membership")
        found = {}
        for name in ("records", "groups"):
            array = arrays.get(name)
            if array is None or array.dtype != np.uint64 or array.ndim != 1:
                raise UserError(f"the fit membership has no hashes of {name}; fit again")
            found[name] = np.sort(array)
        return cls(own, found["records"], found["groups"], Sketches.from_arrays(arrays, own))


def _records(key: bytes, x: npt.NDArray[np.float32]) -> Hashes:
    pieces = [
        np.ascontiguousarray(keyed_words(key, x[at : at + ROWS], 2)).view("<u8").reshape(-1)
        for at in range(0, len(x), ROWS)
    ]
    return np.concatenate([np.empty(0, np.uint64), *pieces])


def _groups(key: bytes, dataset: Dataset) -> Hashes:
    """Hashes of group names as text: 5 and '5' are equal. Missing names are left out."""
    if dataset.group is None:
        return np.empty(0, np.uint64)
    column = dataset.table[dataset.group]
    column = as_whole_numbers(column) if pa.types.is_floating(column.type) else column
    names = {str(v).encode() for v in column.unique().to_pylist() if v is not None}
    digests = (hashlib.blake2b(name, key=key, digest_size=8).digest() for name in names)
    return np.sort(np.frombuffer(b"".join(digests), "<u8").astype(np.uint64))


def _among(hashes: Hashes, known: Hashes) -> int:
    return int(np.isin(hashes, known).sum())
