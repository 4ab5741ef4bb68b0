"""A set of media as one file that `withhold extract` and `transform` take, and how it is written.

Every file has the columns `split` and `record`, a number that a medium keeps in any release.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.atomic import write_bytes
from withhold.records.samples import Kind

RECORD = "record"


@dataclass(frozen=True)
class MediaFile:
    """A file of media, and how to open it."""

    path: Path
    kind: Kind
    column: str


def some_records(records: int, most: int | None) -> npt.NDArray[np.int64]:
    """The numbers of `most` random records, sorted and always the same; of all if it is None."""
    drawn = np.random.default_rng(0).permutation(records)
    return np.sort(drawn if most is None else drawn[:most])


def write_table(
    table: pa.Table, parts: npt.NDArray[np.str_], path: Path, kind: Kind, column: str
) -> MediaFile:
    """Media as bytes in a column of a Parquet file."""
    table = table.append_column(RECORD, pa.array(np.arange(len(table))))
    data = io.BytesIO()
    pq.write_table(table.append_column("split", pa.array(parts.tolist())), data)
    _replace(path, data.getvalue())
    return MediaFile(path, kind, column)


def write_npz(
    arrays: dict[str, npt.NDArray[Any]],
    pixels: str,
    parts: npt.NDArray[np.str_],
    path: Path,
    kind: Kind,
) -> MediaFile:
    """Media as pixels in an array of an npz file."""
    everything: dict[str, Any] = {**arrays, RECORD: np.arange(len(parts)), "split": parts}
    data = io.BytesIO()
    np.savez(data, **everything)
    _replace(path, data.getvalue())
    return MediaFile(path, kind, pixels)


def _replace(path: Path, data: bytes) -> None:
    """Write a file unless it exists unchanged: a newer date would cause a new extraction."""
    if not (path.exists() and path.read_bytes() == data):
        write_bytes(path, data)
