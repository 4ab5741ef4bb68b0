"""Writing NPZ: rows of floats wait in a scratch file, other columns in memory."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from withhold.core.errors import UserError
from withhold.records.arrow_kinds import is_list, is_number, is_text
from withhold.records.writers.sink import Sink, writes

_TEXT_ROWS = 2**14


@writes(".npz")
class NpzSink(Sink):
    """Writes one array per column, without compression or time stamps; `np.load` can read it.

    The length of an array comes before its rows, so nothing can be zipped until the last batch.
    Until then, rows of floats are in an unnamed scratch file beside the output, and everything else
    is in memory.

    Numpy has no null. A null becomes '' in text, NaT in times and NaN in numbers; integers and
    booleans with a null are therefore written as floats (float32 up to 16 bits, otherwise float64,
    which is exact up to 2**53).
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(path, schema)
        for field in schema:
            if not _is_matrix(field.type) and pa.types.is_nested(field.type):
                raise UserError(
                    f"{path} cannot hold column '{field.name}' ({field.type}); write .parquet"
                )

    def _begin(self) -> None:
        self._columns = [
            _held(field, self._final.parent, f"column '{field.name}' of {self.name}")
            for field in self.schema
        ]

    def _append(self, batch: pa.RecordBatch) -> None:
        for column, values in zip(self._columns, batch.columns, strict=True):
            column.add(values)

    def _finish(self) -> None:
        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED) as archive:
            for field, column in zip(self.schema, self._columns, strict=True):
                info = zipfile.ZipInfo(f"{field.name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                info.external_attr = 0o600 << 16
                with archive.open(info, "w", force_zip64=True) as member:
                    column.copy_to(member)

    def _release(self) -> None:
        for column in getattr(self, "_columns", []):
            column.close()


class _Scratch:
    """Rows of floats in an unnamed file, which disappears even if the process is killed."""

    def __init__(self, kind: pa.DataType, folder: Path, where: str) -> None:
        self.dtype = np.dtype(kind.value_type.to_pandas_dtype())
        self.width = kind.list_size if pa.types.is_fixed_size_list(kind) else None
        self.rows, self.where = 0, where
        self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by the sink)

    def add(self, values: pa.Array) -> None:
        rows = _matrix(values, self.width, self.where)
        self.width = rows.shape[1] if len(rows) else self.width
        self.rows += len(rows)
        self.file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)

    def copy_to(self, member: IO[bytes]) -> None:
        _write_header(member, self.dtype, (self.rows, self.width or 0))
        self.file.seek(0)
        shutil.copyfileobj(self.file, member, 2**20)

    def close(self) -> None:
        self.file.close()


class _Matrices:
    """Rows of integers or booleans in memory: a single null turns them all into floats."""

    def __init__(self, kind: pa.DataType, where: str) -> None:
        self.width = kind.list_size if pa.types.is_fixed_size_list(kind) else None
        self.dtype = np.dtype(kind.value_type.to_pandas_dtype())
        self.parts: list[NDArray[Any]] = []
        self.where = where

    def add(self, values: pa.Array) -> None:
        rows = _matrix(values, self.width, self.where)
        self.width = rows.shape[1] if len(rows) else self.width
        # Copied: a view would keep its whole batch in memory.
        self.parts.append(rows.copy())

    def copy_to(self, member: IO[bytes]) -> None:
        rows = sum(len(part) for part in self.parts)
        dtype = np.result_type(self.dtype, *{part.dtype for part in self.parts})
        _write_header(member, dtype, (rows, self.width or 0))
        for part in self.parts:
            member.write(np.ascontiguousarray(part, dtype=dtype).tobytes())

    def close(self) -> None:
        self.parts = []


class _Values:
    """One value per row, in memory as Arrow, which is smaller than numpy's fixed-width text."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        self.parts: list[pa.Array] = []

    def add(self, values: pa.Array) -> None:
        self.parts.append(pa.concat_arrays([values.cast(self.kind)]))

    def copy_to(self, member: IO[bytes]) -> None:
        column = pa.chunked_array(self.parts, self.kind)
        dtype = _numpy_type(column)
        _write_header(member, dtype, (len(column),))
        for start in range(0, len(column), _TEXT_ROWS):
            for array in column.slice(start, _TEXT_ROWS).iterchunks():
                member.write(_to_numpy(array, dtype).tobytes())

    def close(self) -> None:
        self.parts = []


def _held(field: pa.Field, folder: Path, where: str) -> _Scratch | _Matrices | _Values:
    """The rows of one column until the zip can be written."""
    kind = field.type
    if not _is_matrix(kind):
        return _Values(kind)
    if pa.types.is_floating(kind.value_type):
        return _Scratch(kind, folder, where)
    return _Matrices(kind, where)


def _is_matrix(kind: pa.DataType) -> bool:
    inner = kind.value_type if is_list(kind) else pa.null()
    return is_number(inner) or bool(pa.types.is_boolean(inner))


def _matrix(lists: pa.Array, width: int | None, where: str) -> NDArray[Any]:
    """The lists as rows (n, width); as floats with NaN if anything is null."""
    lengths = pc.list_value_length(lists.drop_null()).to_numpy()
    width = int(lengths[0]) if width is None and len(lengths) else width or 0
    if (lengths != width).any():
        raise UserError(f"{where} has lists of different lengths; NPZ needs one length")
    flat = lists.flatten()
    values = _with_nan(flat) if flat.null_count else flat.to_numpy(zero_copy_only=False)
    if not lists.null_count:
        return values.reshape(len(lists), width)
    full = np.full((len(lists), width), np.nan, _float_for(values.dtype))
    full[lists.is_valid().to_numpy(zero_copy_only=False)] = values.reshape(-1, width)
    return full


def to_array(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column as numpy has it: NaN for a null number, nothing for a null text."""
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    return _to_numpy(whole, _numpy_type(column))


def _numpy_type(column: pa.ChunkedArray) -> np.dtype[Any]:
    kind = column.type
    if is_text(kind):
        longest = pc.max(pc.utf8_length(column)).as_py()
        return np.dtype(f"<U{max(1, longest or 0)}")
    if pa.types.is_null(kind):
        return np.dtype(np.float32)
    if pa.types.is_date(kind):
        return np.dtype("<M8[D]")
    if pa.types.is_decimal(kind):
        return np.dtype(np.float64)
    if pa.types.is_timestamp(kind):
        return np.dtype(f"<M8[{kind.unit}]")
    if pa.types.is_duration(kind):
        return np.dtype(f"<m8[{kind.unit}]")
    plain = np.dtype(kind.to_pandas_dtype())
    return _float_for(plain) if column.null_count else plain


def _to_numpy(array: pa.Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind == "U":
        return np.array([text or "" for text in array.to_pylist()], dtype)
    if array.null_count and dtype.kind == "f":
        return _with_nan(array).astype(dtype, copy=False)
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(dtype, copy=False)


def _with_nan(array: pa.Array) -> NDArray[Any]:
    """Numbers with NaN for null. The float type depends on the type of the numbers alone."""
    if pa.types.is_floating(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan, np.float32)
    zero = False if pa.types.is_boolean(array.type) else 0
    dtype = _float_for(np.dtype(array.type.to_pandas_dtype()))
    filled = array.fill_null(zero).to_numpy(zero_copy_only=False).astype(dtype)
    filled[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return np.asarray(filled)


def _float_for(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "f":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def _write_header(member: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(
        member, {"descr": descr, "fortran_order": False, "shape": shape}
    )
