"""Which columns of a table hold the features x, and how they are read and put back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.records.arrow_kinds import is_list, is_number
from withhold.records.readers.unpacked import MOST_FEATURES


@dataclass(frozen=True)
class FeatureLayout:
    """One list column, or several wide numeric columns, seen as a matrix x: (n, d) float32.

    `dimension` is d. For a list column of variable length it is None until `with_dimension` sets it
    from the first batch. `names` has d entries: `x0, x1, ...` for a list column `x`, otherwise the
    names of the columns. `name` is the file, for messages.
    """

    columns: tuple[str, ...]
    dimension: int | None
    names: tuple[str, ...]
    is_list: bool
    name: str

    @classmethod
    def resolve(
        cls, schema: pa.Schema, spec: str | Sequence[str] = "x", *, name: str
    ) -> FeatureLayout:
        """Find the features that `spec` names: a list column, or names and globs (`f_*,age`).

        `spec` may also be a list, whose names may contain commas. Wide columns keep the order of
        the file, not the order in `spec`.
        """
        found = _named(schema, spec, name)
        lists = [column for column in found if is_list(schema.field(column).type)]
        if lists and len(found) > 1:
            shown = spec if isinstance(spec, str) else listing(spec)
            raise UserError(
                f"features '{shown}' of {name} mix the list column '{lists[0]}' with others;"
                f" name it alone: --features {lists[0]}"
            )
        for column in found:
            kind = schema.field(column).type
            if not is_number(kind.value_type if lists else kind):
                raise UserError(
                    f"feature column '{column}' of {name} is not numeric ({kind});"
                    f" {_way_out(schema)}"
                )
        if not lists:
            return cls(tuple(found), len(found), tuple(found), False, name)
        kind = schema.field(found[0]).type
        layout = cls((found[0],), None, (), True, name)
        return (
            layout.with_dimension(kind.list_size) if pa.types.is_fixed_size_list(kind) else layout
        )

    @classmethod
    def of_array(cls, dimension: int, names: Sequence[str] | None, *, name: str) -> FeatureLayout:
        """For a matrix in memory: one list column `x`, or a column for each of `names`."""
        if names is None:
            return cls(("x",), None, (), True, name).with_dimension(dimension)
        columns = tuple(names)
        if len(columns) != dimension or len(set(columns)) != dimension:
            raise UserError(f"{dimension} features need {dimension} different names, not {columns}")
        return cls(columns, dimension, columns, False, name)

    def with_dimension(self, dimension: int) -> FeatureLayout:
        """The layout once the length of a variable list column is known."""
        if self.dimension not in (None, dimension):
            raise UserError(f"{self.name} has {self.dimension} features, not {dimension}")
        if dimension < 1:
            raise UserError(f"column '{self.columns[0]}' of {self.name} holds empty lists")
        if dimension > MOST_FEATURES:
            raise UserError(
                f"column '{self.columns[0]}' of {self.name} holds lists of {dimension:,} values; at"
                f" most {MOST_FEATURES:,} features are read"
            )
        if not self.is_list:
            return self
        names = tuple(f"{self.columns[0]}{i}" for i in range(dimension))
        return replace(self, dimension=dimension, names=names)

    def read(
        self,
        batch: pa.RecordBatch,
        *,
        start_row: int = 0,
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """The features of a batch: (n, d), C-contiguous, finite.

        A float32 list column is not copied, so without `out` the result may be read-only. If `out`
        is given, (n, d) float32, it is filled and returned. `start_row` is the number of the
        batch's first row in the file, for messages.
        """
        if self.is_list:
            x = self._read_list(batch, start_row)
        else:
            x = np.empty((batch.num_rows, len(self.columns)), np.float32) if out is None else out
            for i, column in enumerate(self.columns):
                values = batch.column(column)
                self._refuse(pc.is_null(values), column, start_row, "is missing")
                x[:, i] = _float32(values)
        self._refuse_infinite(batch, x, start_row)
        if out is not None and out is not x:
            out[...] = x
        return x if out is None else out

    def write(self, batch: pa.RecordBatch, x: NDArray[np.floating]) -> pa.RecordBatch:
        """The batch with x: (n, d) in place of its features; every other column untouched."""
        if not self.columns:
            return batch
        dimension = self.dimension or x.shape[-1]
        if x.shape != (batch.num_rows, dimension):
            raise ValueError(f"x is {x.shape}, the batch needs {(batch.num_rows, dimension)}")
        schema = self.release_schema(batch.schema)
        arrays = list(batch.columns)
        for i, column in enumerate(self.columns):
            kind = schema.field(column).type
            place = schema.get_field_index(column)
            if self.is_list:
                values = self._values(x.ravel(), kind.value_type, column)
                arrays[place] = _lists(values, kind, dimension)
            else:
                arrays[place] = self._values(x[:, i], kind, column)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def release_schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema after `write`: the same, but integer features are float32.

        A release is real-valued. Rounding it to integers would modify it once more.
        """
        for column in self.columns:
            i = schema.get_field_index(column)
            field = schema.field(i)
            schema = schema.set(i, field.with_type(_real(field.type)))
        return schema

    def _read_list(self, batch: pa.RecordBatch, start_row: int) -> NDArray[np.float32]:
        column = self.columns[0]
        lists = batch.column(column)
        self._refuse(pc.is_null(lists), column, start_row, "is missing")
        if pa.types.is_fixed_size_list(lists.type):
            dimension = lists.type.list_size
        else:
            lengths = pc.list_value_length(lists).to_numpy()
            dimension = self.dimension or int(lengths[0] if len(lengths) else 0)
            self._refuse(
                lengths != dimension, column, start_row, f"does not have {dimension} values"
            )
        if self.dimension not in (None, dimension):
            raise UserError(
                f"column '{column}' has {dimension} values per row, but {self.name} has"
                f" {self.dimension}"
            )
        # `flatten`, not `values`: only `flatten` respects the offset of a sliced batch.
        values = lists.flatten()
        missing = pc.is_null(values).to_numpy(zero_copy_only=False)
        shape = (batch.num_rows, dimension)
        self._refuse(missing.reshape(shape).any(axis=1), column, start_row, "has a missing value")
        return np.ascontiguousarray(_float32(values)).reshape(shape)

    def _refuse(
        self, bad: pa.Array | NDArray[np.bool_], column: str, start_row: int, what: str
    ) -> None:
        if isinstance(bad, pa.Array):
            bad = bad.to_numpy(zero_copy_only=False)
        if bad.any():
            row = start_row + int(bad.argmax())
            raise UserError(
                f"feature column '{column}' of {self.name} {what} in row {row} (the first row is"
                " 0); fill it in or drop the row"
            )

    def _refuse_infinite(
        self, batch: pa.RecordBatch, x: NDArray[np.float32], start_row: int
    ) -> None:
        finite = np.isfinite(x)
        if finite.all():
            return
        row, place = (int(i) for i in np.argwhere(~finite)[0])
        column = self.columns[0 if self.is_list else place]
        kind = batch.schema.field(column).type
        value = batch.column(column)[row]
        raw = value[place].as_py() if self.is_list else value.as_py()
        wide = np.isfinite(raw)
        what = f"is {raw:g}" + (f", too large for float32 ({kind})," if wide else "")
        self._refuse(~finite.all(axis=1), column, start_row, what)

    def _values(self, x: NDArray[np.floating], kind: pa.DataType, column: str) -> pa.Array:
        with np.errstate(over="ignore"):
            cast = np.ascontiguousarray(x, dtype=kind.to_pandas_dtype())
        if pa.types.is_float16(kind) and not np.isfinite(cast).all():
            raise UserError(
                f"a released value is too large for float16 in column '{column}' of {self.name};"
                " store the features as float32"
            )
        return pa.array(cast, type=kind)


def _parts(schema: pa.Schema, spec: str | Sequence[str]) -> list[str]:
    if not isinstance(spec, str):
        return list(spec)
    return [spec] if spec in schema.names else [part.strip() for part in spec.split(",")]


def _named(schema: pa.Schema, spec: str | Sequence[str], name: str) -> list[str]:
    found: set[str] = set()
    for part in _parts(schema, spec):
        if not isinstance(part, str):
            raise UserError(f"feature names of {name} must be text, not {part!r}")
        if part in schema.names:
            found.add(part)
        elif len(spaced := [c for c in schema.names if c.strip() == part.strip() != ""]) == 1:
            found.add(spaced[0])  # a name with spaces around it, as some spreadsheets have
        elif not part:
            continue
        elif any(sign in part for sign in "*?["):
            matched = [column for column in schema.names if fnmatchcase(column, part)]
            if not matched:
                raise UserError(f"no column of {name} matches '{part}'; {_way_out(schema)}")
            found.update(matched)
        else:
            hint = did_you_mean(part, schema.names)
            raise UserError(f"feature column '{part}' is not in {name}{hint}; {_way_out(schema)}")
    if not found:
        raise UserError(f"no feature columns given for {name}; {_way_out(schema)}")
    return [column for column in schema.names if column in found]


def _way_out(schema: pa.Schema) -> str:
    lists = [f.name for f in schema if is_list(f.type) and is_number(f.type.value_type)]
    numbers = [f.name for f in schema if is_number(f.type)]
    shown = f"list columns: {listing(lists)}; " if lists else ""
    example = lists[0] if lists else "'f_*'"
    return (
        f"name the features with --features, e.g. --features {example};"
        f" {shown}numeric columns: {listing(numbers)}"
    )


def _float32(values: pa.Array) -> NDArray[np.float32]:
    # A double beyond float32 becomes infinite here, and is refused later with its column.
    with np.errstate(over="ignore"):
        return cast(NDArray[np.float32], values.to_numpy().astype(np.float32, copy=False))


def _real(kind: pa.DataType) -> pa.DataType:
    """The type of a feature column after release: floats as they are, integers float32."""
    if not is_list(kind):
        return kind if pa.types.is_floating(kind) else pa.float32()
    inner = kind.value_field.with_type(_real(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner, kind.list_size)
    return pa.large_list(inner) if pa.types.is_large_list(kind) else pa.list_(inner)


def _lists(values: pa.Array, kind: pa.DataType, dimension: int) -> pa.Array:
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(values, type=kind)
    large = pa.types.is_large_list(kind)
    made = pa.LargeListArray if large else pa.ListArray
    ends = np.arange(0, len(values) + 1, dimension, dtype=np.int64 if large else np.int32)
    return made.from_arrays(pa.array(ends), values, type=kind)
