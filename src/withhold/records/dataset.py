"""The dataset: records of one kind, each with its attributes, on Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.records.access import RecordAccess
from withhold.records.arrays import as_pixels, to_matrix
from withhold.records.attribute import Attribute, encode, gather
from withhold.records.checks import checked, no_attribute
from withhold.records.raw_samples import RawSamples
from withhold.records.readers import (
    Collection,
    FeatureLayout,
    Samples,
    Selection,
    Source,
    kind_of_folder,
    load_features,
    open_media,
    open_source,
)
from withhold.records.samples import Kind, RecordKind
from withhold.records.split_access import SplitAccess
from withhold.records.splits import SPLIT
from withhold.records.tables import RECORD, bare_table, canonical_bytes, to_table
from withhold.records.tabular import TableEncoder

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
    # Images or clips of the features, small: (n, channels, side, side).
    pixels: npt.NDArray[np.uint8] | None = None
    tabular: bool = False  # rows of a mixed table; x is what `encoder` makes of them
    encoder: TableEncoder | None = None
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
        kind: Kind | Literal["table"] | None = None,
        delimiter: str | None = None,
        pattern: str | None = None,
        column: str | None = None,
        rate: int | None = None,
        allow_outside: bool = False,
        progress: Progress | None = None,
    ) -> Dataset:
        """Read a Parquet, CSV, JSON Lines, Excel or npz file, a pandas, polars or Arrow frame, a
        Hugging Face dataset, a folder of media, or with `kind` ("image", "sound", "clip", "text") a
        table of media. With `kind="table"` the records are the rows of a mixed table.

        `features` names the list column, or the numeric columns, with the features.
        `multilabel` names attributes made of several binary columns. For media, `pattern` reads
        labels from file names ("{person}_{age}.jpg"), `column` names the column of a table with
        the media, and `rate` is the sample rate of raw sound; see `open_media`.

        Streams record batches into one float32 array, so peak memory is little more than the
        features themselves. Media are listed and not read.
        """
        if kind == "table":
            return cls.of_table(
                open_source(source, delimiter=delimiter),
                path=Path(source) if isinstance(source, str | Path) else None,
                group=group,
                exclude=exclude,
                progress=progress,
            )
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
        file = open_source(source, delimiter=delimiter)
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
            _tuples(multilabel),
            path=Path(source) if isinstance(source, str | Path) else None,
        )
        return checked(data)

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
        layout = FeatureLayout.of_array(array.shape[1], names, name=name)
        taken = [n for n in layout.columns if n in table.column_names]
        if taken:
            raise UserError(f"'{taken[0]}' names both a feature and an attribute; rename one")
        kind = pa.list_(pa.float32(), array.shape[1]) if layout.is_list else pa.float32()
        others = [f for f in table.schema if f.name != RECORD]
        schema = pa.schema([*(pa.field(n, kind) for n in layout.columns), *others])
        several = _tuples(multilabel)
        return checked(cls(array, table, layout, schema, name, group, multilabel=several, raw=raw))

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
        several = _tuples(multilabel)
        return checked(
            replace(data, group=group, exclude=frozenset(exclude), multilabel=several, media=media)
        )

    @classmethod
    def of_table(
        cls,
        source: Source,
        *,
        path: Path | None = None,
        group: str | None = None,
        exclude: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Dataset:
        """The rows of a mixed table as records. Every column is an attribute; x is empty."""
        with (progress or Silent()).stage(f"reading {source.name}", None):
            table = pa.Table.from_batches(list(source.batches()), source.schema)
        layout = FeatureLayout((), 0, (), False, source.name)
        x = np.empty((table.num_rows, 0), np.float32)
        data = cls(x, table, layout, source.schema, source.name, group, frozenset(exclude))
        return checked(replace(data, path=path, tabular=True))

    @classmethod
    def of_labels(cls, labels: Any, n: int, *, name: str = "the data") -> Dataset:
        """n records with labels only: a mapping, any frame, or None."""
        table = to_table(labels, n)
        layout = FeatureLayout((), 0, (), False, name)
        schema = _attributes(table).schema
        return checked(cls(np.empty((n, 0), np.float32), table, layout, schema, name))

    def __len__(self) -> int:
        return len(self.x)

    @property
    def kind(self) -> RecordKind:
        """What the records are: "features", or the kind of their media."""
        if self.media is not None:
            return self.media.kind
        return "table" if self.tabular else "features"

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
            if name in self.multilabel:
                columns = {label: self.table[label] for label in self.multilabel[name]}
                self._encoded[name] = gather(name, columns, self.name)
            elif name in self.table.column_names:
                self._encoded[name] = encode(name, self.table[name], self.name)
            else:
                raise no_attribute(name, self)
        return self._encoded[name]

    def labels(self) -> dict[str, Attribute]:
        """Every attribute that is a usable label; ids, measurements and constants are left out."""
        found = {}
        for name in self.attribute_names:
            with suppress(UserError):
                self.attribute(name).require_label(self.name)
                found[name] = self.attribute(name)
        return found

    def rows(self, rows: Rows) -> Self:
        """Some of the records, in the order given."""
        index = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows, np.int64)
        for name in self.attribute_names:
            with suppress(UserError):
                self.attribute(name)
        return replace(
            self,
            x=self.x[index],
            table=self.table.take(pa.array(index)),
            raw=None if self.raw is None else self.raw.rows(index),
            media=None if self.media is None else Selection.of(self.media, index),
            pixels=None if self.pixels is None else self.pixels[index],
            # Classes stay those of the whole, so that codes mean the same in every part.
            _encoded={name: a.rows(index) for name, a in self._encoded.items()},
        )

    def with_features(self, x: FloatArray) -> Dataset:
        """The same records with other features, such as those a modifier returns."""
        x = np.ascontiguousarray(x, np.float32)
        return replace(self, x=x, raw=None, path=None, pixels=None)

    def without(self, names: Sequence[str]) -> Self:
        """The same records without these attributes, nor the columns of multi-label ones."""
        return self.without_columns(
            {label for name in names for label in self.multilabel.get(name, (name,))}
        )

    def without_columns(self, gone: Set[str]) -> Self:
        """The same records without these columns, nor multi-label attributes made of them."""
        lost = {k for k, labels in self.multilabel.items() if gone & {k, *labels}}
        keep = [c for c in self.table.column_names if c not in gone]
        return replace(
            self,
            table=self.table.select(keep) if keep else bare_table(len(self)),
            schema=pa.schema([f for f in self.schema if f.name not in gone], self.schema.metadata),
            group=None if self.group in gone else self.group,
            exclude=self.exclude - gone,
            multilabel={k: v for k, v in self.multilabel.items() if k not in lost},
            _encoded={k: v for k, v in self._encoded.items() if k not in gone | lost},
        )

    def with_column(self, name: str, values: pa.Array) -> Dataset:
        """The same records with a column added or replaced."""
        table, schema = self.table, self.schema
        made_of = {k: (k, *self.multilabel.get(k, ())) for k in self._encoded}
        kept = {k: v for k, v in self._encoded.items() if name not in made_of[k]}
        if name in table.column_names:
            table, schema = table.drop_columns([name]), schema.remove(schema.get_field_index(name))
        return replace(
            self,
            table=table.append_column(name, values),
            schema=schema.append(pa.field(name, values.type)),
            _encoded=kept,
        )

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


def _tuples(multilabel: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    return {name: tuple(labels) for name, labels in (multilabel or {}).items()}


def _attributes(table: pa.Table) -> pa.Table:
    """The table without the placeholder column of records that have no attributes."""
    return table.drop_columns([RECORD]) if RECORD in table.column_names else table
