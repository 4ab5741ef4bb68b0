"""The dataset: records of one kind, each with its attributes, on Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.records.access import RecordAccess
from withhold.records.arrays import as_pixels, to_matrix
from withhold.records.attribute import Attribute, encode, gather
from withhold.records.checks import check_dataset, no_attribute
from withhold.records.raw_samples import RawSamples
from withhold.records.readers import (
    Collection,
    FeatureLayout,
    Samples,
    Selection,
    kind_of_folder,
    load_features,
    open_media,
    open_source,
)
from withhold.records.samples import Kind, RecordKind
from withhold.records.split_access import SplitAccess
from withhold.records.splits import SPLIT
from withhold.records.tables import RECORD, bare_table, canonical_bytes, encode_any, to_table
from withhold.records.writers import open_sink

FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64] | npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(RecordAccess, SplitAccess):
    """n records of one kind: features x (n, d) float32, or `media`; labels in a table of n rows.

    If the records are media, or have only labels, d is 0. Every column of the table is an attribute
    unless excluded. A column is encoded on first use, so a column that cannot be a label (an id, a
    measurement) only raises an error if it is named in a role.
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
    media: Collection | None = None  # images, sounds, clips or texts, not yet decoded
    # The images that the features were made of, (n, 3, side, side), for attackers that read pixels.
    pixels: npt.NDArray[np.uint8] | None = None
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
        kind: Kind | None = None,
        pattern: str | None = None,
        column: str | None = None,
        rate: int | None = None,
        allow_outside: bool = False,
        progress: Progress | None = None,
    ) -> Dataset:
        """Read a Parquet, CSV or npz file, a pandas, polars or Arrow frame, a Hugging Face dataset,
        a folder of media, or with `kind` ("image", "sound", "clip", "text") a table of media.

        `features` names the list column, or the numeric columns, with the features.
        `multilabel` names attributes made of several binary columns. For media, `pattern` reads
        labels from file names ("{person}_{age}.jpg"), `column` names the column of a table with
        the media, and `rate` is the sample rate of raw sound; see `open_media`.

        Streams record batches into one float32 array, so peak memory is little more than the
        features themselves. Media are listed and not read.
        """
        if kind is not None or (isinstance(source, str | Path) and Path(source).is_dir()):
            media = open_media(
                source,
                kind or kind_of_folder(source),
                pattern=pattern,
                column=column,
                rate=rate,
                stills=False,
                allow_outside=allow_outside,
            )
            return cls.of_media(media, group=group, exclude=exclude, multilabel=multilabel)
        if pattern is not None or column is not None or rate is not None:
            raise UserError(
                "pattern, column and rate are options for media; name the kind of media too:"
                ' Dataset.read(path, kind="image")'
            )
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
        """A dataset of features (n, d), an array or tensor, and attributes, a mapping or any frame.

        Bytes of shape (n, h, w, 3) are n images, and (n, t, h, w, 3) are n clips.
        """
        pixels = as_pixels(x)
        if pixels is not None:
            labels = to_table(attributes, len(pixels))
            media = Samples.of_pixels(pixels, _attributes(labels), name=name)
            return cls.of_media(media, group=group, multilabel=multilabel)
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

    @classmethod
    def of_media(
        cls,
        media: Collection,
        *,
        group: str | None = None,
        exclude: Sequence[str] = (),
        multilabel: Mapping[str, Sequence[str]] | None = None,
    ) -> Dataset:
        """Images, sounds, clips or texts as records; their labels are the attributes."""
        data = cls.of_labels(media.labels(), len(media), name=media.name)
        data = replace(
            data,
            group=group,
            exclude=frozenset(exclude),
            multilabel={k: tuple(v) for k, v in (multilabel or {}).items()},
            media=media,
        )
        check_dataset(data)
        return data

    @classmethod
    def of_labels(cls, labels: Any, n: int, *, name: str = "the data") -> Dataset:
        """n records with labels only: a mapping, any frame, or None."""
        table = to_table(labels, n)
        layout = FeatureLayout((), 0, (), False, name)
        schema = _attributes(table).schema
        data = cls(np.empty((n, 0), np.float32), table, layout, schema, name)
        check_dataset(data)
        return data

    def __len__(self) -> int:
        return len(self.x)

    @property
    def kind(self) -> RecordKind:
        """What the records are: "features", or the kind of their media."""
        return "features" if self.media is None else self.media.kind

    @property
    def dimension(self) -> int:
        """Features per record."""
        return int(self.x.shape[1])

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Every column that can have a role, in file order; multi-label attributes last."""
        parts = {label for labels in self.multilabel.values() for label in labels}
        skip = self.exclude | parts | {SPLIT, RECORD}
        return (*(c for c in self.table.column_names if c not in skip), *self.multilabel)

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name, encoded. A column that cannot be a label is refused."""
        if name not in self._encoded:
            self._encoded[name] = self._encode(name)
        return self._encoded[name]

    def labels(self) -> dict[str, Attribute]:
        """Every attribute that is a usable label; ids, measurements and constants are left out."""
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
            media=None if self.media is None else Selection.of(self.media, index),
            pixels=None if self.pixels is None else self.pixels[index],
            # Classes stay those of the whole, so that codes mean the same in every part.
            _encoded={name: a.rows(index) for name, a in self._all_encoded().items()},
        )

    def with_features(self, x: FloatArray) -> Dataset:
        """The same records with other features, such as those a modifier returns."""
        x = np.ascontiguousarray(x, np.float32)
        return replace(self, x=x, raw=None, path=None, pixels=None)

    def without(self, names: Sequence[str]) -> Dataset:
        """The same records without these attributes, nor the columns of multi-label ones."""
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
        """Record batches in the layout of the file."""
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
        """Write to Parquet, CSV or npz, by suffix, atomically. Only a release can have media."""
        if self.media is not None:
            raise UserError(
                f"{self.name} holds {self.kind}s, which can only be written as a release:"
                " bundle.release(data).write(path)"
            )
        with open_sink(path, self.layout.release_schema(self.schema)) as sink:
            for batch in self.batches():
                sink.write(batch)

    def digest(self) -> str:
        """SHA-256 over features and all other columns. It does not depend on the file format."""
        h = hashlib.sha256(repr(self.x.shape).encode())
        h.update(np.ascontiguousarray(self.x).data)
        if self.media is not None:
            h.update(self.media.digest().encode())
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


def _attributes(table: pa.Table) -> pa.Table:
    """The table without the placeholder column of records that have no attributes."""
    return table.drop_columns([RECORD]) if RECORD in table.column_names else table
