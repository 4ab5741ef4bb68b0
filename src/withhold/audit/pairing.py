"""Which record of a release is which of the original: by id, or by order where nothing speaks
against it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError, did_you_mean
from withhold.media.collect.collection import FILE
from withhold.records.dataset import SPLIT, Dataset
from withhold.records.tables import RECORD


@dataclass(frozen=True, eq=False)
class Pair:
    """An original and its release, record by record, and what was done to make it so."""

    original: Dataset
    release: Dataset  # in the order of the original
    notes: tuple[str, ...]
    released: Dataset  # as it leaves
    place: npt.NDArray[np.int64]  # (n,): the row of each record in the release as it leaves

    def on(self, kept: npt.NDArray[np.int64], original: Dataset) -> Pair:
        """The same of some of the records; `original` has them already."""
        release = self.release.rows(kept)
        return Pair(original, release, self.notes, self.released, self.place[kept])

    @property
    def same_space(self) -> bool:
        """Whether a model of the original can be asked about the release."""
        return self.original.dimension == self.release.dimension

    @property
    def identical(self) -> bool:
        """Whether nothing was changed."""
        return self.same_space and bool(np.array_equal(self.original.x, self.release.x))


def matching(original: Dataset, release: Dataset, by: str) -> Dataset:
    """The records of the original that the release has too: another system may have lost some."""
    for data in (original, release):
        if by not in data.table.column_names:
            hint = did_you_mean(by, data.table.column_names)
            raise UserError(f"id column '{by}' is not in {data.name}{hint}")
    there = pc.is_in(_text(original, by), value_set=pc.unique(_text(release, by)))
    kept = np.asarray(there.to_numpy(zero_copy_only=False), bool)
    if not kept.any():
        raise UserError(
            f"no '{by}' of {original.name} is in {release.name}, such as"
            f" '{_text(original, by)[0].as_py()}'; are they of one set?{_renamed(by)}"
        )
    return original if kept.all() else original.rows(kept)


def pair(
    original: Dataset, release: Dataset, *, by: str | None = None, same_order: bool = False
) -> Pair:
    """Match the records; refuse where they cannot be the same ones.

    `by` names an id column. Without it a column that both have and that is different in every
    record serves; without such a column the order must be the same, and every column that both
    have must agree (but for the names of files where `same_order` vouches), or the rows were
    shuffled. Where the two share no column that could tell, the records must lie nearer to their
    own originals than to others; where they do not and `same_order` vouches, a note says so.
    """
    notes: list[str] = []
    if by is not None:
        for data in (original, release):
            if by not in data.table.column_names:
                hint = did_you_mean(by, data.table.column_names)
                raise UserError(f"id column '{by}' is not in {data.name}{hint}")
    if len(original) != len(release):
        raise UserError(
            f"{original.name} has {len(original):,} records and {release.name}"
            f" {len(release):,}; a release has the same records (where it lacks some, an id column"
            " tells which: --id)"
        )
    released, order = release, np.arange(len(release), dtype=np.int64)
    rows = getattr(release, "original_rows", None)
    listed = rows is not None and by is None  # we know the order: it need not be vouched for
    if listed and getattr(release, "same_order", False):
        same_order = True
    elif rows is not None and by is None and not same_order:
        order = _original_order(original, release, rows)
        release, same_order = release.rows(order), True
        notes.append("records were in a random order; matched by the list of rows")
    elif same_order and by is None:
        _refuse_numbered(original, release)
    name = by or (None if same_order else _id_column(original, release))
    if name is not None:
        order = _by_id(original, release, name)
        if not np.array_equal(order, np.arange(len(order))):
            release = release.rows(order)
            notes.append(f"records were in another order; matched by column '{name}'")
    told = _check_common(original, release, FILE if same_order and name is None else name)
    found = Pair(original, release, tuple(notes), released, order)
    if listed and not told and found.same_space:
        notes += _doubts(original, release, released)
    if name is None and not told and not listed:
        near = not found.same_space or _nearer(original.x, release.x)
        if not near and same_order:
            # Shuffled records tell nothing: the audit would find any release private.
            notes.append(
                "the order is vouched for (--same-order), but records lie no nearer to their own"
                " originals than to others: if it is wrong, every figure of the release is too low"
            )
        elif not near:
            raise UserError(
                f"{original.name} and {release.name} share no column that says which record is"
                " which, and records lie no nearer to their own originals than to others: were the"
                " rows shuffled? Give both an id column (--id), or vouch for it (--same-order)"
            )
        if not same_order:
            notes.append(
                "the files share no column that says which record is which: taken to be in one"
                " order"
            )
    if not found.same_space:
        notes.append(
            f"the release has {release.dimension:,} features and the original"
            f" {original.dimension:,}: models of the original cannot be asked about it, so there"
            " is no ignorant tier and no distance"
        )
    if found.identical:
        notes.append("the release is the original: nothing was changed")
    return Pair(original, release, tuple(notes), released, order)


def _doubts(original: Dataset, release: Dataset, released: Dataset) -> list[str]:
    """Refuse a list of rows that contradicts the records; note one that they do not support.

    released: in the order of the file, which no right list is worse than.
    """
    if _nearer(original.x, release.x):
        return []
    if _nearer(original.x, released.x):
        raise UserError(
            f"the list of rows of {released.name} does not fit it: records lie nearer to the"
            " originals in the same place of the file than to those that the list names; is it of"
            " another release? Give the right list (--rows), or leave it out (--same-order)"
        )
    if len(np.unique(release.x, axis=0)) <= len(release) / 2:
        return []  # codes, which many records share, may lie anywhere
    return [
        "records lie no nearer to the originals that the list of rows names than to others: if the"
        " list is wrong, every figure of the release is too low"
    ]


def _original_order(
    original: Dataset, release: Dataset, rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """For each record of the original its row in the release; `rows` (n,) says the reverse."""
    if not np.array_equal(np.sort(rows), np.arange(len(original))):
        raise UserError(
            f"the list of rows of {release.name} does not name each of the {len(original):,}"
            f" records of {original.name} once; is it of another release?"
        )
    return np.argsort(rows)


def _refuse_numbered(original: Dataset, release: Dataset) -> None:
    """Our own releases of files are numbered at random: their order vouches for nothing."""
    if FILE not in release.table.column_names or FILE not in original.table.column_names:
        return
    ours = re.compile(r"\d{8}")
    names = release.table[FILE].to_pylist()
    numbered = all(n is not None and ours.fullmatch(n) for n in names)
    if numbered and set(names) != set(original.table[FILE].to_pylist()):
        raise UserError(
            f"the files of {release.name} are numbered, as `withhold transform` deals numbers"
            " out at random, so their order says nothing: extract them with --names"
            " RELEASE.names.csv and leave out --same-order"
        )


def _renamed(name: str) -> str:
    if name != FILE:
        return ""
    return (
        " (where `withhold transform` numbered the files, extract its release with --names; where"
        " others renamed them and kept the order, vouch for it with --same-order)"
    )


def _common(original: Dataset, release: Dataset) -> list[str]:
    theirs = set(release.table.column_names)
    return [c for c in original.table.column_names if c in theirs and c != RECORD]


def _id_column(original: Dataset, release: Dataset) -> str | None:
    """A column with as many values as records, the same ones in both."""
    for name in _common(original, release):
        if original.table[name].null_count or not _tells(original, release, name):
            continue
        one, two = _text(original, name), _text(release, name)
        if pc.count_distinct(one).as_py() == len(original) == pc.count_distinct(two).as_py():
            return name
    return None


def _by_id(
    original: Dataset, release: Dataset, name: str
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each record of the original its row in the release."""
    one, two = (_text(data, name) for data in (original, release))
    for data, ids in ((original, one), (release, two)):
        if ids.null_count or pc.count_distinct(ids).as_py() != len(ids):
            counts = pc.value_counts(ids.drop_null()).to_pylist()
            twice = next((c["values"] for c in counts if c["counts"] > 1), None)
            what = "is null in some records" if twice is None else f"has '{twice}' more than once"
            raise UserError(f"id column '{name}' of {data.name} {what}; an id names one record")
    order = pc.index_in(one, value_set=two)
    if order.null_count:
        lost = one.filter(pc.is_null(order))
        raise UserError(
            f"{len(lost):,} ids of {original.name} are not in {release.name}, such as"
            f" '{lost[0].as_py()}' (column '{name}'); a release has the same"
            f" records{_renamed(name)}"
        )
    return np.asarray(order.to_numpy(zero_copy_only=False), np.int64)


def _tells(original: Dataset, release: Dataset, name: str) -> bool:
    """Whether a column must be the same in both. Measures may have been rounded on their way;
    lists and media are not compared."""
    return not any(
        pa.types.is_nested(kind)
        or _is_bytes(kind)
        or (pa.types.is_floating(kind) and data is original)
        for data in (original, release)
        for kind in [data.table[name].type]
    )


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _text(data: Dataset, name: str) -> pa.Array:
    column = data.table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_bytes(column.type):
        return pa.array([None if v is None else v.hex() for v in column.to_pylist()])
    return column.cast(pa.string())


def _nearer(original: npt.NDArray[np.float32], release: npt.NDArray[np.float32]) -> bool:
    """Whether records lie nearer to their own originals than to others'; true where all releases
    are alike, since then it does not matter."""
    rows = np.random.default_rng(0).permutation(len(original))[:2000]
    one, two = original[rows].astype(np.float64), release[rows].astype(np.float64)
    if not np.ptp(two, axis=0).any():
        return True
    scale = np.maximum(one.std(axis=0), 1e-12)
    own = np.median(np.abs(one - two) / scale, axis=1)
    others = np.median(np.abs(one - np.roll(two, 1, axis=0)) / scale, axis=1)
    # By chance half of them are; four deviations above that are not chance.
    return bool((own < others).mean() > 0.5 + 2 / np.sqrt(len(rows)))


def _check_common(original: Dataset, release: Dataset, matched_by: str | None) -> bool:
    """Columns that both have must agree: else the records are others, or in another order.

    Whether there was a column to compare, other than one value throughout.
    """
    told = False
    for name in _common(original, release):
        if name in (matched_by, SPLIT) or not _tells(original, release, name):
            continue
        one, two = _text(original, name), _text(release, name)
        differ = np.asarray(
            pc.fill_null(pc.not_equal(one, two), False).to_numpy(zero_copy_only=False)
        )
        if not differ.any():
            told = told or pc.count_distinct(one).as_py() > 1
            continue
        row = int(np.argmax(differ))
        shuffled = sorted(map(str, one.to_pylist())) == sorted(map(str, two.to_pylist()))
        way = (
            "its rows are in another order, and no column names the records; give both files an id"
            " column (--id)"
            if shuffled and matched_by is None
            else f"leave column '{name}' out of one of the files, if it was changed on purpose"
        )
        raise UserError(
            f"record {row} (the first is 0) has {name} '{one[row].as_py()}' in {original.name} and"
            f" '{two[row].as_py()}' in {release.name}: {way}"
        )
    return told
