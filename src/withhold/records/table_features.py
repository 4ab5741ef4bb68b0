"""Features of a mixed table, for methods and attackers that work on numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.records.arrow_kinds import is_number, is_text
from withhold.records.dataset import Dataset
from withhold.records.plain import plain_column, plain_type
from withhold.records.readers import FeatureLayout
from withhold.records.splits import SPLIT
from withhold.records.table_notes import table_notes
from withhold.records.tables import RECORD, bare_table
from withhold.records.tabular import TableColumns, TableEncoder, describe_columns
from withhold.records.tabular.vector_features import is_vectors

_STEP = 65_536  # rows encoded at once
AS_RELEASED = " (as released)"


def encode_table(
    dataset: Dataset,
    leave_out: Collection[str],
    *,
    least: int = 5,
    progress: Progress | None = None,
) -> Dataset:
    """The dataset with features x of its columns, without `leave_out`, the group and `split`.

    Columns that hold no values to compare (free text, ids) have no features; they are named.
    """
    skip = {*leave_out, SPLIT, RECORD, *dataset.exclude}
    skip |= {dataset.group} if dataset.group is not None else set()
    skip |= set(_copies(dataset.table, leave_out))
    columns = describe_columns(dataset.table, name=dataset.name, leave_out=skip, least=least)
    if not columns.columns:
        raise UserError(
            f"{dataset.name} has no column to release besides those that are suppressed or dropped;"
            " give a table with more columns"
        )
    for note in table_notes(dataset, columns, leave_out):
        (progress or Silent()).say(note)
    encoder = TableEncoder.fit(dataset.table, columns)
    if encoder.width == 0:
        raise UserError(
            f"no column of {dataset.name} besides the suppressed ones differs between records;"
            " there is nothing to keep"
        )
    return with_encoder(dataset, encoder)


def _copies(table: pa.Table, hidden: Collection[str]) -> list[str]:
    """Columns that say the same as a hidden one, in other words: they would come back as noise.

    The release policy finds them as copies, and leaves them out with that reason.
    """
    found = []
    for secret in (n for n in hidden if n in table.column_names):
        one = table[secret].combine_chunks().dictionary_encode()
        for name in table.column_names:
            kind = table[name].type
            other = isinstance(kind, pa.BaseExtensionType) or pa.types.is_nested(kind)
            if name in hidden or other or pa.types.is_floating(kind):
                continue
            two = table[name].combine_chunks().dictionary_encode()
            pairs = pa.table({"a": _indices(one), "b": _indices(two)}).group_by(["a", "b"])
            number = pairs.aggregate([]).num_rows
            if number == len(pc.unique(_indices(one))) == len(pc.unique(_indices(two))):
                found.append(name)
    return found


def _indices(column: pa.Array) -> pa.Array:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.indices.cast(pa.int64()).fill_null(-1)


def with_encoder(dataset: Dataset, encoder: TableEncoder) -> Dataset:
    """The dataset with the features that an encoder makes of its rows."""
    n = len(dataset)
    x = np.empty((n, encoder.width), np.float32)
    for start in range(0, n, _STEP):
        x[start : start + _STEP] = encoder.encode(dataset.table.slice(start, _STEP))
    columns = tuple(c.name for c in encoder.columns)
    names = tuple(
        f"{name}.{i}"
        for name, part in encoder.blocks.items()
        for i in range(part.stop - part.start)
    )
    layout = FeatureLayout(columns, encoder.width, names, False, dataset.name)
    return replace(dataset, x=x, layout=layout, tabular=True, encoder=encoder)


def attack_tables(
    original: Dataset, release: Dataset, suppress: Collection[str]
) -> tuple[Dataset, Dataset]:
    """Both tables with features of the columns that they share, for an audit.

    The encoder is fitted on both together, so that no value of either is lost. All columns of the
    release stay columns too, so that the audit attacks each of them as it is.
    """
    shared = [
        c
        for c in release.table.column_names
        if c in original.table.column_names and c not in suppress and c != original.group
    ]
    columns = _same_kinds(original, release, shared)
    both = pa.concat_tables(
        [_plain(d.table.select(columns.names)) for d in (original, release)],
        promote_options="permissive",
    )
    encoder = TableEncoder.fit(both, columns)
    if encoder.width == 0:
        raise UserError(
            f"{original.name} and {release.name} share no column that can be compared; are they"
            " the same kind of data?"
        )
    # Each column is attacked by itself as well, with all its digits and values: under another name,
    # since it no longer has to agree with the column of the original.
    names = [f"{c}{AS_RELEASED}" if c in columns.names else c for c in release.table.column_names]
    table = release.table.rename_columns(names) if names else bare_table(len(release))
    made = replace(with_encoder(release, encoder), table=table, _encoded={})
    return with_encoder(original, encoder), made


def _same_kinds(original: Dataset, release: Dataset, shared: list[str]) -> TableColumns:
    """Descriptions of the shared columns that have features in both tables."""
    others = set(original.table.column_names) - set(shared)
    found = describe_columns(original.table, name=original.name, leave_out=others, least=1)
    keep = tuple(
        c
        for c in found.columns
        if _plain_type(release, c.name) == _plain_type(original, c.name)
        or _both_numbers(release.table[c.name].type, original.table[c.name].type)
        or _both_vectors(release.table[c.name].type, original.table[c.name].type)
        or pa.types.is_null(release.table[c.name].type)
    )
    return TableColumns(keep, found.dropped)


def _plain_type(dataset: Dataset, name: str) -> pa.DataType:
    # A release has plain values: text where the original has categories, for example.
    kind = plain_type(dataset.table[name].type)
    return pa.large_string() if is_text(kind) else kind


def _both_numbers(one: pa.DataType, two: pa.DataType) -> bool:
    # A CSV writes the real number 2.0 as 2, so a column of them is read back as integers.
    return is_number(one) and is_number(two)


def _both_vectors(one: pa.DataType, two: pa.DataType) -> bool:
    # JSON Lines has numbers of one width only.
    return is_vectors(one) and is_vectors(two) and bool(one.list_size == two.list_size)


def _plain(table: pa.Table) -> pa.Table:
    """The table without dictionary types: tables of different dictionaries can then be joined."""
    columns = []
    for c in table.columns:
        vector = is_vectors(c.type)
        kind = pa.list_(pa.float32(), c.type.list_size) if vector else None
        columns.append(plain_column(c) if kind is None else c.cast(kind))
    return pa.table(columns, names=table.column_names)
