"""A column of vectors (fixed-size lists of numbers, such as embeddings of text) as features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorFeatures:
    """z = (v - mean) / scale, which has a total variance of 1; a missing v becomes the mean."""

    mean: tuple[float, ...]
    scale: float

    @classmethod
    def fit(cls, v: Matrix) -> VectorFeatures:
        """v: (n, d), NaN for missing, with at least one vector."""
        known = v[~np.isnan(v).any(axis=1)]
        variance = float(known.var(axis=0, dtype=np.float64).sum())
        mean = known.mean(axis=0, dtype=np.float64)
        return cls(tuple(mean.tolist()), float(np.sqrt(variance)) if variance > 0 else 1.0)

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.mean)

    def encode(self, v: Matrix, out: Matrix) -> None:
        """Write the features of v: (n, d) into out: (n, d)."""
        out[:] = np.nan_to_num((v - np.array(self.mean)) / self.scale)

    def decode(self, z: Matrix) -> Matrix:
        """The vectors (n, d) that have the features z (n, d)."""
        made: Matrix = (np.array(self.mean) + self.scale * z).astype(np.float32)
        return made

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"mean": list(self.mean), "scale": self.scale}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> VectorFeatures:
        """The features that `to_json` wrote."""
        return cls(tuple(told["mean"]), float(told["scale"]))


def is_vectors(kind: pa.DataType) -> bool:
    """Whether a column of this type holds vectors of one length."""
    return bool(pa.types.is_fixed_size_list(kind) and pa.types.is_floating(kind.value_type))


def vectors(column: pa.ChunkedArray | pa.Array) -> Matrix:
    """The vectors of a column, (n, d); a row of NaN is missing."""
    size = column.type.list_size
    out = np.full((len(column), size), np.nan, np.float32)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    start = 0
    for chunk in chunks:
        there = chunk.is_valid().to_numpy(zero_copy_only=False).astype(bool)
        flat = chunk.flatten()  # without the values below nulls
        values = flat.cast(pa.float32()).to_numpy(zero_copy_only=False).reshape(-1, size)
        out[start : start + len(chunk)][there] = values
        start += len(chunk)
    out[~np.isfinite(out).all(axis=1)] = np.nan
    return out


def from_vectors(made: Matrix, gone: npt.NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Vectors (n, d) as a column of this type; `gone` (n,) are missing."""
    flat = pa.array(np.where(gone[:, None], 0, made).reshape(-1)).cast(kind.value_type)
    whole = pa.FixedSizeListArray.from_arrays(flat, kind.list_size, mask=pa.array(gone))
    return whole if whole.type == kind else whole.cast(kind)
