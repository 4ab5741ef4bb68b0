"""Match each record of a release to its original: by id, or by order if nothing contradicts it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from withhold.audit.pairing_evidence import (
    FEWEST,
    are_exchanged,
    as_text,
    check_common,
    common_columns,
    doubts_of_list,
    lie_nearer,
    must_agree,
    numbers_rows,
    refuse_numbered_files,
    refuse_other_original,
    refuse_row_numbers,
)
from withhold.core.errors import UserError, did_you_mean
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import FILE
from withhold.release.released_dataset import ReleasedDataset


@dataclass(frozen=True, eq=False)
class PairedRelease:
    """An original and its release, record by record, with notes on how they were matched."""

    original: Dataset
    release: Dataset  # in the order of the original
    notes: tuple[str, ...]
    released: Dataset  # in the order of the file
    place: npt.NDArray[np.int64]  # (n,): the row of each record in `released`
    doubtful: bool = False  # whether nobody vouches for the pairing, and no distance supports it
    exchanged: bool = False  # whether records equal the originals of others
    held_back: int = 0  # records of the original that the list of rows does not name

    def on(self, kept: npt.NDArray[np.int64], original: Dataset) -> PairedRelease:
        """The same pairing for the rows `kept`; `original` has only these rows already."""
        return replace(
            self, original=original, release=self.release.rows(kept), place=self.place[kept]
        )

    @property
    def same_space(self) -> bool:
        """Whether a model of the original can score the release."""
        return self.original.dimension == self.release.dimension

    @property
    def identical(self) -> bool:
        """Whether nothing was changed."""
        return self.same_space and bool(np.array_equal(self.original.x, self.release.x))


def matching(original: Dataset, release: Dataset, by: str) -> Dataset:
    """The records of the original that are also in the release; another tool may lose some."""
    _require(by, original, release)
    there = pc.is_in(as_text(original, by), value_set=pc.unique(as_text(release, by)))
    kept = np.asarray(there.to_numpy(zero_copy_only=False), bool)
    if not kept.any():
        raise UserError(
            f"no '{by}' of {original.name} is in {release.name}, such as"
            f" '{as_text(original, by)[0].as_py()}'; are they the same records?{_renamed(by)}"
        )
    return original if kept.all() else original.rows(kept)


def pair(
    original: Dataset, release: Dataset, *, by: str | None = None, same_order: bool = False
) -> PairedRelease:
    """Match the records. Raise `UserError` if they cannot be the same ones.

    `by` names an id column. By default, the id is a column in both with a different value in every
    record. If there is none, the order must be the same, and every column in both must agree (file
    names need not, with `same_order`); otherwise the rows were shuffled. If no column can tell, the
    records must lie nearer to their own originals than to others; if they do not, and the user
    vouches for `same_order`, a note says so. A column that only numbers the rows of both files
    counts as an id only if the records agree with it. The pairing is `doubtful` where neither the
    user, nor a list of ours, nor the distances of the records support it.
    """
    notes: list[str] = []
    vouched = same_order
    if by is not None:
        _require(by, original, release)
    if len(original) != len(release):
        raise UserError(
            f"{original.name} has {len(original):,} records and {release.name}"
            f" {len(release):,}; a release has the same records (if it lacks some, name an id"
            " column with --id)"
        )
    released, order = release, np.arange(len(release), dtype=np.int64)
    # If a release comes with a list of rows, its order is known and needs no vouching.
    listed = release if isinstance(release, ReleasedDataset) and by is None else None
    if listed is not None:
        refuse_other_original(original, listed)
    if listed is not None and listed.same_order:
        same_order = True
    elif listed is not None and not same_order:
        order = _original_order(original, listed, listed.original_rows)
        release, same_order = release.rows(order), True
        notes.append("records were in a random order; matched by the list of rows")
    elif same_order and by is None:
        refuse_numbered_files(original, release)
    name = by or (None if same_order else _id_column(original, release))
    numbers = name is not None and numbers_rows(original, release, name)
    if name is not None:
        order = _by_id(original, release, name)
        if not np.array_equal(order, np.arange(len(order))):
            release = release.rows(order)
            notes.append(f"records were in another order; matched by column '{name}'")
    told = check_common(original, release, FILE if same_order and name is None else name)
    if numbers and not told and not vouched:
        refuse_row_numbers(original, release, str(name))
    found = PairedRelease(original, release, tuple(notes), released, order)
    near = found.same_space and lie_nearer(original.x, release.x)
    # Columns say which record a row is, and not whether its features are those of that record.
    doubtful = not (near or vouched or listed is not None)
    exchanged = False
    if not vouched and listed is None and found.same_space:
        exchanged = are_exchanged(original.x, release.x)
    if exchanged:
        notes.append(
            "many released records equal the original of another record: they are paired with the"
            " wrong originals, or were exchanged, and every figure of the release is too low"
        )
    elif found.same_space and not near and (name is not None or told) and len(original) > FEWEST:
        own = "their own originals" if name is None else f"the originals with the same '{name}'"
        notes.append(
            f"records lie no nearer to {own} than to others: if their features belong to other"
            " records, every figure of the release is too low"
        )
    if listed is not None and not told and found.same_space:
        doubts = doubts_of_list(original, release, released)
        notes, doubtful = notes + doubts, bool(doubts)
    if name is None and not told and listed is None:
        far = found.same_space and not near
        if far and same_order:
            # If records are shuffled, attackers read nothing, and any release looks private.
            notes.append(
                "the order is vouched for (--same-order), but records lie no nearer to their own"
                " originals than to others: if it is wrong, every figure of the release is too low"
            )
        elif far:
            raise UserError(
                f"{original.name} and {release.name} share no column that identifies records, and"
                " records lie no nearer to their own originals than to others: were the rows"
                " shuffled? Give both an id column (--id), or vouch for the order (--same-order)"
            )
        if not same_order:
            notes.append(
                "the files share no column that identifies records: they are assumed to be in the"
                " same order"
            )
    if not found.same_space:
        notes.append(
            f"the release has {release.dimension:,} features and the original"
            f" {original.dimension:,}: models of the original cannot score it, so there is no"
            " ignorant tier and no distance"
        )
    if found.identical:
        notes.append("the release is the original: nothing was changed")
    return PairedRelease(original, release, tuple(notes), released, order, doubtful, exchanged)


def _require(by: str, *both: Dataset) -> None:
    """Refuse an id column that one of the datasets does not have."""
    for data in both:
        if by not in data.table.column_names:
            hint = did_you_mean(by, data.table.column_names)
            raise UserError(f"id column '{by}' is not in {data.name}{hint}")


def _original_order(
    original: Dataset, release: Dataset, rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The row in the release of each original record; `rows` (n,) is the inverse."""
    if not np.array_equal(np.sort(rows), np.arange(len(original))):
        raise UserError(
            f"the list of rows of {release.name} does not name each of the {len(original):,}"
            f" records of {original.name} once; does it belong to another release?"
        )
    return np.argsort(rows)


def _renamed(name: str) -> str:
    if name != FILE:
        return ""
    return (
        " (if `withhold transform` numbered the files, extract its release with --names; if another"
        " tool renamed them and kept the order, vouch for it with --same-order)"
    )


def _id_column(original: Dataset, release: Dataset) -> str | None:
    """A column in both files with a different value in every record."""
    for name in common_columns(original, release):
        if original.table[name].null_count or not must_agree(original, release, name):
            continue
        one, two = as_text(original, name), as_text(release, name)
        if pc.count_distinct(one).as_py() == len(original) == pc.count_distinct(two).as_py():
            return name
    return None


def _by_id(
    original: Dataset, release: Dataset, name: str
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The row in the release of each original record."""
    one, two = (as_text(data, name) for data in (original, release))
    for data, ids in ((original, one), (release, two)):
        if ids.null_count or pc.count_distinct(ids).as_py() != len(ids):
            counts = pc.value_counts(ids.drop_null()).to_pylist()
            twice = next((c["values"] for c in counts if c["counts"] > 1), None)
            what = "is null in some records" if twice is None else f"has '{twice}' more than once"
            raise UserError(f"id column '{name}' of {data.name} {what}; an id must name one record")
    order = pc.index_in(one, value_set=two)
    if order.null_count:
        lost = one.filter(pc.is_null(order))
        raise UserError(
            f"{len(lost):,} ids of {original.name} are not in {release.name}, such as"
            f" '{lost[0].as_py()}' (column '{name}'); a release has the same"
            f" records{_renamed(name)}"
        )
    return np.asarray(order.to_numpy(zero_copy_only=False), np.int64)
