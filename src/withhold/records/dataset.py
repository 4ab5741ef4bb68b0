"""The dataset: records x (features + attributes), on Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.records.access import RecordAccess
from withhold.records.arrays import to_matrix
from withhold.records.attribute import Attribute, encode, gather
from withhold.records.checks import check_dataset, no_attribute
from withhold.records.files import FeatureLayout, load_features, open_sink, open_source
from withhold.records.splits import assign_parts, records_where
from withhold.records.tables import RECORD, bare_table, canonical_bytes, encode_any, to_table

FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64] | npt.NDArray[np.bool_]
SPLIT = "split"


class RawSamples(Protocol):
    """The media that features came from, able to make the two contrastive views of a record."""

    def views(
        self, rows: npt.NDArray[np.int64], *, seed: int, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        """Features of two augmented views of each of `rows`: two arrays (len(rows), d)."""

    def rows(self, rows: npt.NDArray[np.int64]) -> RawSamples:
        """The same for some records."""

    def fingerprint(self) -> str:
        """What the views depend on beside the seed: samples, extractor, augmentation."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(RecordAccess):
    """Features x: (n, d) float32, and every other column as an Arrow table of n rows.

    Every other column is an attribute unless excluded; it is encoded when first asked for, so a
    column that is no label (an id, a measure) harms nobody until it is named in a role.
    """

    x: FloatArray
    table: pa.Table
    layout: FeatureLayout
    schema: pa.Schema
    name: str = "the data"
    group: str | None = None
    exclude: frozenset[str] = frozenset()
    multilabel: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    raw: RawSamples | None = None
    path: Path | None = None  # the file that was read
    _encoded: dict[str, Attribute] = field(default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        features: str | Sequence[str] = "x",
        group: str | None = None,
        exclude: Sequence[str] = (),
        multilabel: Mapping[str, Sequence[str]] | None = None,
        progress: Progress | None = None,
    ) -> Dataset:
        """Read a Parquet, CSV or npz file, a pandas, polars or Arrow frame, or a Hugging Face one.

        `features` names the list column, or the numeric columns, that hold the features.

        Streams record batches into one float32 array, so that memory peaks at little more than
        the features themselves. `multilabel` names attributes made of several binary columns.
        """
        file = open_source(source)
        layout = FeatureLayout.resolve(file.schema, features, name=file.name)
        others = [c for c in file.schema.names if c not in layout.columns]
        with (progress or Silent()).stage(f"reading {file.name}", None):
            x = load_features(file, layout)
            batches = list(file.batches(columns=others)) if others else []
        data = cls(
            x,
            pa.Table.from_batches(batches) if batches else bare_table(len(x)),
            layout.with_dimension(x.shape[1]) if layout.dimension is None else layout,
            file.schema,
            file.name,
            group,
            frozenset(exclude),
            {k: tuple(v) for k, v in (multilabel or {}).items()},
            path=Path(source) if isinstance(source, str | Path) else None,
        )
        check_dataset(data)
        return data

    @classmethod
    def from_arrays(
        cls,
        x: npt.ArrayLike,
        attributes: Any = None,
        *,
        names: Sequence[str] | None = None,
        name: str = "the data",
        group: str | None = None,
        multilabel: Mapping[str, Sequence[str]] | None = None,
        raw: RawSamples | None = None,
    ) -> Dataset:
        """From features (n, d), an array or tensor, and attributes: a mapping or any frame."""
        array = to_matrix(x)
        table = to_table(attributes, len(array))
        if table.num_rows != len(array):
            raise UserError(
                f"attributes have {table.num_rows:,} records, the features {len(array):,}"
            )
        layout = FeatureLayout.of_array(array.shape[1], names, name=name)
        taken = [n for n in layout.columns if n in table.column_names]
        if taken:
            raise UserError(f"'{taken[0]}' names both a feature and an attribute; rename one")
        kind = pa.list_(pa.float32(), array.shape[1]) if layout.is_list else pa.float32()
        others = [f for f in table.schema if f.name != RECORD]
        schema = pa.schema([*(pa.field(n, kind) for n in layout.columns), *others])
        data = cls(
            array,
            table,
            layout,
            schema,
            name,
            group,
            multilabel={k: tuple(v) for k, v in (multilabel or {}).items()},
            raw=raw,
        )
        check_dataset(data)
        return data

    def __len__(self) -> int:
        return len(self.x)

    @property
    def dimension(self) -> int:
        """Features per record."""
        return int(self.x.shape[1])

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Every column that can be given a role, in file order; multi-label ones last."""
        parts = {label for labels in self.multilabel.values() for label in labels}
        skip = self.exclude | parts | {SPLIT, RECORD}
        return (*(c for c in self.table.column_names if c not in skip), *self.multilabel)

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name, encoded; refuses a column that is no label."""
        if name not in self._encoded:
            self._encoded[name] = self._encode(name)
        return self._encoded[name]

    def labels(self) -> dict[str, Attribute]:
        """Every attribute that is a usable label; ids, measures and constants are left out."""
        found = {}
        for name in self.attribute_names:
            try:
                attribute = self.attribute(name)
                attribute.require_label(self.name)
            except UserError:
                continue
            found[name] = attribute
        return found

    @property
    def parts(self) -> npt.NDArray[np.str_] | None:
        """The part of each record, or None where the data has no `split` column."""
        if SPLIT not in self.table.column_names:
            return None
        return np.asarray([str(part) for part in self.table[SPLIT].to_pylist()])

    def part(self, *names: str) -> Dataset:
        """The records of these parts; the whole where the data has no split."""
        parts = self.parts
        return self if parts is None else self.rows(np.isin(parts, names))

    @property
    def group_codes(self) -> npt.NDArray[np.int64] | None:
        """An integer per record naming its group (person or source), or None."""
        return None if self.group is None else encode_any(self.table[self.group])

    def rows(self, rows: Rows) -> Dataset:
        """Some of the records, in the order given."""
        index = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows, np.int64)
        return replace(
            self,
            x=self.x[index],
            table=self.table.take(pa.array(index)),
            raw=None if self.raw is None else self.raw.rows(index),
            # Classes stay those of the whole, so that codes mean the same in every part.
            _encoded={name: a.rows(index) for name, a in self._all_encoded().items()},
        )

    def with_features(self, x: FloatArray) -> Dataset:
        """The same records with other features: what a modifier returns."""
        return replace(self, x=np.ascontiguousarray(x, np.float32), raw=None, path=None)

    def without(self, names: Sequence[str]) -> Dataset:
        """The same records without these attributes; a multi-label one goes with its columns."""
        gone = {label for name in names for label in self.multilabel.get(name, (name,))}
        lost = {k for k, labels in self.multilabel.items() if gone & {k, *labels}}
        keep = [c for c in self.table.column_names if c not in gone]
        return replace(
            self,
            table=self.table.select(keep) if keep else bare_table(len(self)),
            schema=pa.schema([f for f in self.schema if f.name not in gone], self.schema.metadata),
            group=None if self.group in gone else self.group,
            multilabel={k: v for k, v in self.multilabel.items() if k not in lost},
            _encoded={k: v for k, v in self._encoded.items() if k not in gone | lost},
        )

    def with_split(
        self,
        fractions: tuple[float, float, float] = (0.6, 0.2, 0.2),
        *,
        stratify: Sequence[str] = (),
        grouped: bool | None = None,
        seed: int = 0,
    ) -> Dataset:
        """The same records with a new `split`: stratified by the joint classes of `stratify`,
        never dividing a group (unless `grouped` is false)."""
        strata = None
        for name in stratify:
            codes = self.attribute(name).codes
            codes = codes if codes.ndim == 1 else np.unique(codes, axis=0, return_inverse=True)[1]
            strata = codes if strata is None else strata * (codes.max() + 2) + codes
        groups = None if grouped is False else self.group_codes
        if grouped and groups is None:
            raise UserError("a grouped split needs a group column; name it with --group")
        parts = assign_parts(
            len(self), fractions=fractions, strata=strata, groups=groups, seed=seed
        )
        return self.with_column(SPLIT, pa.array(parts.tolist()))

    def with_drawn_split(self, suppress: Sequence[str]) -> Dataset:
        """The same where the data has a split; else one that everybody draws alike.

        It depends on the number of records and their groups, not on a seed, and on the roles only
        where the group itself is suppressed: a fit and any later audit of the same data must agree
        on which records the fit never saw.
        """
        if self.parts is not None:
            return self
        # Where the group itself is to be hidden, a test part of other groups could not show it:
        # nobody can name a person whom they never met.
        return self.with_split(grouped=False if self.group in suppress else None)

    def with_test_where(self, condition: str) -> Dataset:
        """The same records with a split: test where `COLUMN OP VALUE` holds (`take>=30`)."""
        held = records_where(self.table, condition, self.name)
        if held.all() or not held.any():
            which = "every record" if held.all() else "no record"
            raise UserError(f"'{condition}' holds for {which} of {self.name}; nothing to split")
        return self.with_column(SPLIT, pa.array(np.where(held, "test", "train").tolist()))

    def with_column(self, name: str, values: pa.Array) -> Dataset:
        """The same records with a column added or replaced."""
        table, schema = self.table, self.schema
        if name in table.column_names:
            table, schema = table.drop_columns([name]), schema.remove(schema.get_field_index(name))
        return replace(
            self,
            table=table.append_column(name, values),
            schema=schema.append(pa.field(name, values.type)),
            _encoded={
                k: v
                for k, v in self._encoded.items()
                if k != name and name not in self.multilabel.get(k, ())
            },
        )

    def batches(self, rows: int = 4096) -> Iterator[pa.RecordBatch]:
        """Record batches as they would be in the file."""
        blank = {name: self.schema.field(name) for name in self.layout.columns}
        for start in range(0, len(self), rows):
            piece = self.table.slice(start, rows)
            x = self.x[start : start + rows]
            columns = [
                pa.nulls(len(x), blank[f.name].type) if f.name in blank else piece[f.name]
                for f in self.schema
            ]
            batch = pa.RecordBatch.from_arrays(
                [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns],
                schema=self.schema,
            )
            yield self.layout.write(batch, x)

    def write(self, path: str | Path) -> None:
        """Write to Parquet, CSV or npz, by suffix; atomic."""
        with open_sink(path, self.layout.release_schema(self.schema)) as sink:
            for batch in self.batches():
                sink.write(batch)

    def digest(self) -> str:
        """SHA-256 over features and every other column: what the input was, in any file format."""
        h = hashlib.sha256(repr(self.x.shape).encode())
        h.update(np.ascontiguousarray(self.x).data)
        for name in sorted({*self.table.column_names} - {RECORD}):
            h.update(name.encode())
            for piece in canonical_bytes(self.table[name]):
                h.update(piece)
        return h.hexdigest()

    def _all_encoded(self) -> dict[str, Attribute]:
        for name in self.attribute_names:
            try:
                self.attribute(name)
            except UserError:
                continue
        return self._encoded

    def _encode(self, name: str) -> Attribute:
        if name in self.multilabel:
            columns = {label: self.table[label] for label in self.multilabel[name]}
            return gather(name, columns, self.name)
        if name not in self.table.column_names:
            raise no_attribute(name, self)
        return encode(name, self.table[name], self.name)
