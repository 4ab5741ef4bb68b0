"""Columns that never leave: ids, file names, payloads, copies of inputs."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.records.arrow_kinds import is_bytes, is_number, is_text
from withhold.records.columns.column_encoding import FREQUENT, list_matrix
from withhold.records.plain import plain_column, plain_type

FloatArray = npt.NDArray[np.float32]
NAMES_OF_FILES = ("path", "file", "filename", "file_name", "filepath", "file_path", "url", "uri")
NEAR = 0.95  # correlation above which a column counts as a near-copy
EXPLAINED = 0.9  # share of variance that a linear map explains, above which it is a near-copy
FEW = 20  # with fewer records, the number of distinct values means nothing
SHORT = 8  # lists of up to this many numbers are measured like other columns
_FILE = re.compile(r"[/\\]|\.[A-Za-z][A-Za-z0-9]{1,4}$")
_FIT_ROWS = 2000


def structural_reason(name: str, column: pa.ChunkedArray, x: FloatArray | None) -> str | None:
    """Why a column is left out without a measurement, in words; None if it must be measured.

    column: a sample of the records; x: (m, d) the features of the first m of them. For columns that
    cannot be checked, see `uncheckable`.
    """
    column = plain_column(column)
    if has_bytes(column.type):
        return "binary payload"
    if name.lower() in NAMES_OF_FILES or _is_paths(column):
        return "names of files or paths"
    if is_id(column):
        return "different in nearly every record, so it can identify the record"
    if x is not None and copies_inputs(column, x):
        return "copy or near-copy of the features that were modified"
    matrix = list_matrix(column.slice(0, _FIT_ROWS))
    if matrix is not None and matrix.shape[1] > SHORT and not _is_binary_labels(matrix):
        return f"list of {matrix.shape[1]:,} numbers that the method did not modify"
    return None


def has_bytes(kind: pa.DataType) -> bool:
    """Whether values of this type contain bytes, at any depth."""
    kind = plain_type(kind)
    return is_bytes(kind) or any(has_bytes(kind.field(i).type) for i in range(kind.num_fields))


def uncheckable(column: pa.ChunkedArray) -> str | None:
    """Why no measurement can clear a column, in words; None if one can.

    Nested values other than lists of numbers contain more than their encoding shows, unless there
    are few different ones. A few values among many missing ones may each identify a person.
    """
    column = plain_column(column)
    present = len(column) - column.null_count
    if pa.types.is_nested(column.type) and list_matrix(column.slice(0, _FIT_ROWS)) is None:
        if _distinct(column) > FREQUENT:
            return f"could not be checked: values of type {column.type}"
        return None
    if 0 < present < FEW and (
        (is_text(column.type) and len(column) >= FEW) or _mostly_different(column)
    ):
        return f"could not be checked: only {present} values, which may each name a person"
    return None


def is_id(column: pa.ChunkedArray) -> bool:
    """Whether at least nine of ten records have different values, and the column is no measure.

    Measures are floating-point numbers, or lists of them, that are not all whole.
    """
    column = plain_column(column)
    return len(column) - column.null_count >= FEW and _mostly_different(column)


def _mostly_different(column: pa.ChunkedArray) -> bool:
    present = len(column) - column.null_count
    return not _is_measure(column) and _distinct(column) >= 0.9 * present


def _distinct(column: pa.ChunkedArray) -> int:
    if pa.types.is_nested(column.type):
        return len({repr(v) for v in column.to_pylist() if v is not None})
    if pa.types.is_interval(column.type):
        return len(set(column.drop_null().to_pylist()))
    return int(pc.count_distinct(column).as_py())


def _is_measure(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if pa.types.is_floating(kind):
        values = column.cast(pa.float64()).to_numpy()
    elif pa.types.is_nested(kind):
        matrix = list_matrix(column)
        if matrix is None:
            return False
        values = matrix.reshape(-1)
    else:
        return False
    values = values[np.isfinite(values)]
    return bool((values != np.round(values)).any())


def copies_inputs(column: pa.ChunkedArray, x: FloatArray) -> bool:
    """Whether a column of numbers (also as text), dates, or lists of numbers copies the inputs.

    It does if it correlates with one feature (by value, by rank, or by rank with the feature's
    distance from its mean), if a linear map of the features explains it, or if a linear map of it
    explains the features. The maps are fitted on one half of the records and tested on the other.
    """
    rows = min(len(x), len(column), _FIT_ROWS)
    values = _matrix(column.slice(0, rows))
    if values is None or rows < FEW:
        return False
    inputs = x[:rows].astype(np.float64)
    values = np.where(np.isfinite(values), values, 0.0)
    values, inputs = (m[:, m.std(axis=0) > 0] for m in (values, inputs))
    if not values.shape[1] or not inputs.shape[1]:
        return False
    different = len(np.unique(values)) if values.shape[1] == 1 else FREQUENT + 1
    if different == 2:  # does it equal one of the inputs, up to scale and offset?
        return bool((_correlation(values, inputs) > 1 - 1e-6).any())
    best = np.maximum(_correlation(values, inputs), _correlation(_ranks(values), _ranks(inputs)))
    sizes = np.abs(inputs - inputs.mean(axis=0))  # to find squares and absolute values
    best = np.maximum(best, _correlation(_ranks(values), _ranks(sizes)))
    if (best > NEAR).mean() > 0.5:
        return True
    if different <= FREQUENT:
        return False  # a label that the features predict well is not a copy of them
    return max(_explained(inputs, values), _explained(values, inputs)) > EXPLAINED


def _matrix(column: pa.ChunkedArray) -> npt.NDArray[np.float64] | None:
    kind = column.type
    if pa.types.is_nested(kind):
        found = list_matrix(column)
        return None if found is None or not found.shape[1] else found
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        short = pa.types.is_date32(kind) or pa.types.is_time32(kind)
        column = column.cast(pa.int32() if short else pa.int64())
    if is_text(kind):
        try:
            column = column.cast(pa.string()).cast(pa.float64())  # numbers stored as text
        except pa.ArrowInvalid:
            return None
    kind = column.type
    if not (is_number(kind) or pa.types.is_decimal(kind)):
        return None
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers.reshape(-1, 1)  # type: ignore[no-any-return]


def _correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each column of a, the largest absolute correlation with a column of b."""
    a, b = ((m - m.mean(axis=0)) / (m.std(axis=0) + 1e-300) for m in (a, b))
    found: npt.NDArray[np.float64] = np.abs(a.T @ b / len(a)).max(axis=1)
    return found


def _ranks(m: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return m.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable").astype(np.float64)


def _explained(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """The share of b's variance that a linear map of a explains, out of sample; (n, p), (n, q)."""
    half = len(a) // 2
    if a.shape[1] > half // 2:
        return 0.0
    mean, scale = a[:half].mean(axis=0), a[:half].std(axis=0) + 1e-12
    a = np.clip((a - mean) / scale, -10, 10)
    middle, spread = b[:half].mean(axis=0), b[:half].std(axis=0) + 1e-12
    b = np.clip((b - middle) / spread, -10, 10)
    gram = a[:half].T @ a[:half] + 1e-3 * half * np.eye(a.shape[1])
    left = b[half:] - a[half:] @ np.linalg.solve(gram, a[:half].T @ b[:half])
    return float(1 - np.square(left).mean() / np.square(b[half:]).mean())


def _is_paths(column: pa.ChunkedArray) -> bool:
    if not is_text(column.type):
        return False
    texts = [t for t in column.slice(0, 1000).to_pylist() if t]
    paths = [t for t in texts if " " not in t.strip() and _FILE.search(t)]
    return len(texts) >= FEW and len(paths) > 0.8 * len(texts)


def _is_binary_labels(matrix: npt.NDArray[np.float64]) -> bool:
    return bool(np.isin(matrix[~np.isnan(matrix)], (0.0, 1.0)).all())
