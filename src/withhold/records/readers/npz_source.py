"""NPZ: numpy arrays of equal length, streamed from their zip file."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from withhold.core.errors import UserError
from withhold.records.readers.source import Source, check_table, one_line, reads
from withhold.records.readers.unpacked import check_unpacked, check_width


@reads(".npz")
class NpzSource(Source):
    """Streams the arrays of an `.npz`: a 1-D array is a column, a 2-D array a list column.

    2-D floats become lists of float32, 2-D integers and booleans keep their type. Numpy has no
    null: in a 1-D array an empty string, a NaN and a NaT are read as null. A NaN in a 2-D array
    stays NaN. Arrays of objects are refused, since reading them runs pickle.
    An array in Fortran order cannot be streamed by row and is loaded whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        members = stored_arrays(path)
        types = {member.column: _column_type(path, member) for member in members}
        self._members = {member.column: member for member in members}
        for member in members[1:]:
            if member.rows != members[0].rows:
                raise UserError(
                    f"{path}: array '{member.column}' has {member.rows} rows, but"
                    f" '{members[0].column}' has {members[0].rows}; give all the same length"
                )
        self.schema = pa.schema(list(types.items()))
        self.num_rows = members[0].rows if members else 0
        check_table(self.name, self.schema, self.num_rows)

    def _read(self, rows: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        members = [self._members[column] for column in columns]
        schema = pa.schema([self.schema.field(column) for column in columns])
        with _told_plainly(self.path), zipfile.ZipFile(self.path) as archive, ExitStack() as stack:
            streams = [_Rows(stack.enter_context(archive.open(m.file)), m) for m in members]
            for start in range(0, self.num_rows, rows):
                count = min(rows, self.num_rows - start)
                arrays = [
                    stream.take(count, kind, self.path)
                    for stream, kind in zip(streams, schema.types, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(frozen=True)
class StoredArray:
    """The header of an array in an npz, checked against the size of its data."""

    file: str
    column: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool

    @property
    def rows(self) -> int:
        """How many rows a column has."""
        return self.shape[0]


def stored_arrays(path: Path) -> list[StoredArray]:
    """The arrays of an npz, from their headers. Nothing is unpacked.

    Objects are refused, since reading them runs pickle. Shapes that the file cannot contain are
    refused, and files that would unpack to far more than their size.
    """
    with _told_plainly(path), zipfile.ZipFile(path) as archive:
        found = archive.infolist()
        check_width(path.name, len(found))
        check_unpacked(path, sum(info.file_size for info in found))
        return [_describe(path, archive, info) for info in found]


@contextmanager
def _told_plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    # With damaged archives, zipfile and numpy raise errors of any type.
    except Exception as error:
        raise UserError(
            f"{path} is not an NPZ file, or was cut short; write it again ({one_line(error)})"
        ) from error


class _Rows:
    """The rows of one array, taken in order from its open member of the zip."""

    def __init__(self, stream: IO[bytes], member: StoredArray) -> None:
        read_header(stream)
        self.stream, self.member, self.done = stream, member, 0
        self.whole: NDArray[Any] | None = None

    def take(self, count: int, kind: pa.DataType, path: Path) -> pa.Array:
        member = self.member
        width = member.shape[1:]
        if member.fortran and len(member.shape) == 2:
            if self.whole is None:
                flat = self._values(member.rows * width[0], path)
                self.whole = flat.reshape(member.shape, order="F")
            array = self.whole[self.done : self.done + count]
        else:
            array = self._values(count * (width[0] if width else 1), path).reshape(count, *width)
        self.done += count
        return _to_arrow(array, kind, f"{path}: array '{member.column}'")

    def _values(self, count: int, path: Path) -> NDArray[Any]:
        size = count * self.member.dtype.itemsize
        data = self.stream.read(size)
        if len(data) != size:
            raise UserError(
                f"{path}: array '{self.member.column}' has fewer rows than its header says;"
                " write it again"
            )
        return np.frombuffer(data, self.member.dtype, count=count)


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of an array; the stream is then at its first value."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def _describe(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> StoredArray:
    column = info.filename.removesuffix(".npy")
    if column == info.filename:
        raise UserError(f"{path} holds '{info.filename}', which is not an array; leave it out")
    try:
        with archive.open(info) as stream:
            shape, fortran, dtype = read_header(stream)
            there = info.file_size - stream.tell()
    except (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
        raise UserError(f"{path}: '{column}' is not a numpy array ({one_line(error)})") from error
    if dtype.hasobject:
        raise UserError(
            f"{path}: array '{column}' has Python objects, which are not read (pickle can run"
            " code); save it as text or numbers, e.g. astype(str)"
        )
    if min(shape, default=0) < 0 or (dtype.itemsize == 0 and math.prod(shape) > 0):
        raise UserError(
            f"{path}: array '{column}' has an impossible header: {dtype} of shape {shape}"
        )
    if math.prod(shape) * dtype.itemsize > there:
        raise UserError(
            f"{path}: array '{column}' should be {dtype} of shape {shape}, but has"
            f" {there:,} bytes; write it again"
        )
    return StoredArray(info.filename, column, dtype, tuple(shape), fortran)


def _column_type(path: Path, array: StoredArray) -> pa.DataType:
    """The Arrow type of the column of an array."""
    dtype, shape = array.dtype, array.shape
    if len(shape) == 2 and dtype.kind in "fiub" and shape[1] > 0:
        value = pa.float32() if dtype.kind == "f" else pa.from_numpy_dtype(dtype.newbyteorder("="))
        return pa.list_(value, shape[1])
    if len(shape) == 1 and dtype.kind in "US":
        return pa.string()
    if len(shape) == 1:
        with suppress(pa.ArrowException):
            return pa.array(np.empty(0, dtype.newbyteorder("="))).type
    raise UserError(
        f"{path}: array '{array.column}' is {dtype} of shape {shape}; a column has one value per"
        " row, or one row of numbers (reshape to two dimensions)"
    )


def _to_arrow(array: NDArray[Any], kind: pa.DataType, where: str) -> pa.Array:
    if array.ndim == 2:
        value = kind.value_type.to_pandas_dtype()
        with np.errstate(over="ignore"):
            flat = np.ascontiguousarray(array, dtype=value).ravel()
        return pa.FixedSizeListArray.from_arrays(pa.array(flat), type=kind)
    if array.dtype.kind == "S":
        try:
            array = np.strings.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{where} holds bytes that are not UTF-8; save it as text") from error
    if array.dtype.kind == "U":
        try:
            texts = pa.array([text or None for text in array.tolist()], pa.string())
            texts.validate(full=True)
        except (pa.ArrowException, ValueError, SystemError) as error:  # beyond U+10FFFF
            raise UserError(f"{where} holds characters that do not exist") from error
        return texts
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return pa.array(native, type=kind, from_pandas=True)
