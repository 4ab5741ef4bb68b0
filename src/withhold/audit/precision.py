"""The digits of released features beyond float32: a file of float64 may hide a label there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.audit.attackers.attacker import FloatArray
from withhold.records.arrow_kinds import is_list
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.release.released_dataset import ReleasedDataset

NAME = "(features below float32)"


def below_float32(release: Dataset) -> FloatArray | None:
    """(x64 - float32(x64)) in units of the last place of float32, (n, d); None if all are zero.

    The file of the release is read again, since a dataset keeps its features in float32. None if
    the file no longer matches the dataset (rows were left out).
    """
    if release.path is None or not may_have(release) or release.tabular:
        return None  # the columns of a table are attacked by themselves, with all their digits
    source = open_source(release.path)
    listed = release.file_rows if isinstance(release, ReleasedDataset) else None
    pieces, done = [], 0
    for batch in source.batches(columns=list(release.layout.columns)):
        start, done = done, done + batch.num_rows
        if listed is not None:
            here = listed[(listed >= start) & (listed < done)] - start
            batch = batch.take(pa.array(np.sort(here)))
        wide = _float64(batch, release.layout.is_list)
        high = wide.astype(np.float32)
        pieces.append((high, ((wide - high) / np.spacing(np.abs(high))).astype(np.float32)))
    high = np.concatenate([p[0] for p in pieces])
    rest: FloatArray = np.concatenate([p[1] for p in pieces])
    same = high.shape == release.x.shape and np.array_equal(
        np.sort(high, axis=1), np.sort(release.x, axis=1)
    )
    return rest if same and rest.any() else None


def may_have(release: Dataset) -> bool:
    """Whether features are stored with more digits than float32 has."""
    return any(
        name in release.schema.names and _is_wide(release.schema.field(name).type)
        for name in release.layout.columns
    )


def _is_wide(kind: pa.DataType) -> bool:
    inner = kind.value_type if is_list(kind) else kind
    return bool(pa.types.is_float64(inner) or (pa.types.is_integer(inner) and inner.bit_width > 16))


def _float64(batch: pa.RecordBatch, is_list: bool) -> npt.NDArray[np.float64]:
    if is_list:
        values = batch.column(0).flatten().cast(pa.float64(), safe=False)
        flat: npt.NDArray[np.float64] = values.to_numpy(zero_copy_only=False)
        return flat.reshape(batch.num_rows, -1)
    return np.stack(
        [c.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) for c in batch.columns],
        axis=1,
    )
