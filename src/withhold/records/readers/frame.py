"""Frames in memory: pandas, polars, Hugging Face, or anything that supports Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from withhold.core.errors import UserError
from withhold.records.readers.hugging_face_source import hugging_face_table, is_hugging_face
from withhold.records.readers.source import Source, check_table


class FrameSource(Source):
    """A source over a frame. The data is shared with the frame, not copied, if Arrow can do so.

    A pandas index is left out: it identifies a row and is not a column.
    """

    def __init__(self, frame: Any) -> None:
        self.name = f"the {_kind(frame)}"
        self._table = _as_table(frame, self.name)
        self.schema = self._table.schema
        self.num_rows = self._table.num_rows
        check_table(self.name, self.schema, self.num_rows)

    def _read(self, rows: int, columns: list[str]) -> list[pa.RecordBatch]:
        found: list[pa.RecordBatch] = self._table.select(columns).to_batches()
        return found


def without_views(schema: pa.Schema) -> pa.Schema:
    """The schema with view types such as `string_view` (polars) replaced by plain types."""
    fields = [field.with_type(_plain(field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain(kind.value_type), ordered=kind.ordered)
    if pa.types.is_list(kind) or pa.types.is_list_view(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind):
        return pa.large_list(kind.value_field.with_type(_plain(kind.value_type)))
    return kind


def _as_table(frame: Any, name: str) -> pa.Table:
    if is_hugging_face(frame):
        table = hugging_face_table(frame)
        return table.cast(without_views(table.schema))
    is_pandas = _kind(frame) == "pandas frame"
    is_frame = hasattr(frame, "columns" if is_pandas else "__arrow_c_stream__")
    if not is_frame:
        raise UserError(
            f"cannot read a {type(frame).__name__}; give a path, a pandas, polars or Arrow frame,"
            " or a Hugging Face dataset"
        )
    try:
        # pandas is recognised by its module name, so that we need not import it.
        if is_pandas:
            frame = _without_intervals(frame)
        table = pa.Table.from_pandas(frame, preserve_index=False) if is_pandas else pa.table(frame)
        return table.cast(without_views(table.schema))
    except (pa.ArrowException, TypeError, ValueError) as error:
        if "Duplicate column names" in str(error):
            raise UserError(f"{name} has two columns with one name; rename one of them") from error
        # Arrow names the column in the last argument of the exception.
        said = "; ".join(str(part).strip() for part in error.args).replace("\n", " ")
        raise UserError(f"{name} cannot be read: {said}; give every column one type") from error


def _without_intervals(frame: Any) -> Any:
    """The pandas frame with ranges, as `pd.cut` makes them, as categories of text: Arrow would
    store them as a type that its functions do not take."""
    if not frame.columns.is_unique:
        return frame
    text = {}
    for name, kind in frame.dtypes.items():
        categories = getattr(getattr(kind, "categories", None), "dtype", kind)
        if str(categories).startswith("interval"):
            text[name] = frame[name].astype("category").cat.rename_categories(str)
    return frame.assign(**text) if text else frame


def _kind(frame: Any) -> str:
    if is_hugging_face(frame):
        return "Hugging Face dataset"
    module = type(frame).__module__.partition(".")[0]
    return "Arrow frame" if module == "pyarrow" else f"{module} frame"
