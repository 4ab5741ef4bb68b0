"""Access to the records of a dataset: indexing, iteration, batches, files, pandas, Hugging Face,
PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.records import display
from withhold.records.readers import Collection, FeatureLayout
from withhold.records.writers import open_sink

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from withhold.records.dataset import Dataset, FloatArray, Rows
    from withhold.records.torch_view import TorchRecords

_AT_ONCE = 1024


class RecordAccess:
    """Methods that `Dataset` inherits; none of them changes a record."""

    x: FloatArray
    table: pa.Table
    name: str
    media: Collection | None
    layout: FeatureLayout
    schema: pa.Schema

    if TYPE_CHECKING:  # methods of `Dataset` that this class uses

        def rows(self, rows: Rows) -> Dataset:
            """Some of the records, in the order given."""

        @property
        def kind(self) -> str:
            """What the records are."""

    @overload
    def __getitem__(self, which: int | np.integer[Any]) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, which: slice | Sequence[int] | Sequence[bool] | Rows) -> Dataset: ...

    def __getitem__(self, which: Any) -> Any:
        """`data[0]` is one record as a dict; a slice, row numbers or a mask give a Dataset."""
        n = len(self.x)
        if isinstance(which, slice):
            return self.rows(np.arange(n)[which])
        rows = np.asarray(which)
        if rows.ndim == 1 and not len(rows):
            return self.rows(np.empty(0, np.int64))
        if rows.ndim > 1 or rows.dtype.kind not in "iub" or (rows.ndim == 0 and rows.dtype == bool):
            raise TypeError(
                f"index records by number, slice, rows or mask, not by {which!r};"
                " for a column, use data.table['name'] or data.attribute('name')"
            )
        if rows.dtype == bool and len(rows) != n:
            raise IndexError(f"the mask has {len(rows):,} values, the dataset {n:,} records")
        if rows.dtype != bool and (rows.min() < -n or rows.max() >= n):
            raise IndexError(f"there is no record {which}; the dataset has {n:,}")
        if rows.ndim == 1:
            return self.rows(rows if rows.dtype == bool else rows % n)
        place = int(rows) % n
        return next(self._records(place, place + 1))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the records, each as in `data[i]`."""
        return self._records(0, len(self.x))

    def batches(self, rows: int = 4096) -> Iterator[pa.RecordBatch]:
        """Record batches in the layout of the file."""
        features = set(self.layout.columns)
        for start in range(0, len(self.x), rows):
            piece, x = self.table.slice(start, rows), self.x[start : start + rows]
            columns = [
                pa.nulls(len(x), f.type) if f.name in features else piece[f.name].combine_chunks()
                for f in self.schema
            ]
            yield self.layout.write(pa.RecordBatch.from_arrays(columns, schema=self.schema), x)

    def write(self, path: str | Path) -> None:
        """Write to Parquet, CSV or npz, by suffix, atomically. Only a release can have media."""
        if self.media is not None:
            raise UserError(
                f"{self.name} holds {self.kind}s, which can only be written as a release:"
                " bundle.release(data).write(path)"
            )
        with open_sink(path, self.layout.release_schema(self.schema)) as sink:
            for batch in self.batches():
                sink.write(batch)

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame with the columns that the file would have.

        A list column of features becomes a column of arrays; `pd.DataFrame(data.x)` has one column
        per feature.
        """
        schema = self.layout.release_schema(self.schema)
        try:
            frame: pd.DataFrame = pa.Table.from_batches(self.batches(), schema).to_pandas()
        except ModuleNotFoundError as error:
            raise UserError("to_pandas needs pandas; install it: pip install pandas") from error
        return frame

    def to_hugging_face(self) -> Any:
        """A `datasets.Dataset` with the columns that the file would have.

        `Dataset.read` reads it back.
        """
        from withhold.records.hugging_face_view import as_hugging_face

        return as_hugging_face(self)  # type: ignore[arg-type]

    def to_torch(self, labels: str | Sequence[str] | None = None) -> TorchRecords:
        """A `torch.utils.data.Dataset` of pairs (x, labels), for a DataLoader.

        x: (d,) float32. With one name, labels are its codes: int64, -1 for a missing label;
        (k,) for a multi-label attribute. With several names, or None for all usable ones, they are
        a mapping from names to codes. `data.attribute(name).classes` lists the classes.
        """
        from withhold.records.torch_view import TorchRecords

        return TorchRecords.of(self, labels)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return display.summary(self)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        return display.html(self)  # type: ignore[arg-type]

    def _records(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        names, features = self.layout.names, self.layout.columns
        for at in range(start, stop, _AT_ONCE):
            some = range(at, min(at + _AT_ONCE, stop))
            table = self.table.slice(at, len(some)).to_pylist()
            for i, others in zip(some, table, strict=True):
                x = self.x[i].copy()
                own = {features[0]: x} if self.layout.is_list else dict(zip(names, x, strict=True))
                yield {
                    f.name: own[f.name] if f.name in own else others[f.name] for f in self.schema
                }
