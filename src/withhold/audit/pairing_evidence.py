"""Evidence for or against a pairing: the columns of both files, and distances between records.

If records are paired with the wrong originals, an audit finds that nothing can be read.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from withhold.core.errors import UserError
from withhold.records.arrow_kinds import is_bytes
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import FILE
from withhold.records.splits import SPLIT
from withhold.records.tables import RECORD
from withhold.records.writers.row_list import records_digest
from withhold.release.released_dataset import ReleasedDataset

FEWEST = 16  # of so few records, `lie_nearer` can say nothing


def refuse_other_original(original: Dataset, release: ReleasedDataset) -> None:
    """Refuse a list of rows made for another original, or for the same one in another order."""
    listed = release.original_digest
    if listed is not None and listed != records_digest(original):
        raise UserError(
            f"{release.name} was made from other data than {original.name}, or from the same"
            " records in another order or with other features, so its list of rows would match the"
            " wrong records; give the data that was released, or an id column in both (--id)"
        )


def doubts_of_list(original: Dataset, release: Dataset, released: Dataset) -> list[str]:
    """Refuse a list of rows that the records contradict; note one that they do not support.

    released: the release in the order of the file. A correct list fits no worse than this order.
    """
    if lie_nearer(original.x, release.x):
        return []
    if lie_nearer(original.x, released.x):
        raise UserError(
            f"the list of rows of {released.name} does not fit it: records lie nearer to the"
            " originals in the same row than to those in the list; does it belong to another"
            " release? Give the right list (--rows), or leave it out (--same-order)"
        )
    if len(np.unique(release.x, axis=0)) <= len(release) / 2:
        return []  # many records share a code, and a code may lie anywhere
    return [
        "records lie no nearer to the originals in the list of rows than to others: if the list is"
        " wrong, every figure of the release is too low"
    ]


def numbers_rows(original: Dataset, release: Dataset, name: str) -> bool:
    """Whether a column only numbers the rows of both files in equal steps, like an index.

    Values such as `r0001`, `r0002` are numbers too. File names are not: they identify files.
    """
    found = []
    for data in (original, release):
        text = as_text(data, name)
        start = _start_of_all(text)
        if name == FILE or text.null_count:
            return False
        try:
            values = pc.utf8_slice_codeunits(text, len(start)).cast(pa.float64())
        except pa.ArrowInvalid:
            return False
        steps = np.diff(values.drop_null().to_numpy())
        found.append(not values.null_count and len(steps) > 0 and not np.ptp(steps))
    return all(found)


def _start_of_all(text: pa.Array) -> str:
    """The letters with which every value begins."""
    first = re.match(r"[^0-9+-]*", str(text[0].as_py())) if len(text) else None
    start = "" if first is None else first[0]
    return start if pc.all(pc.starts_with(text, start)).as_py() else ""


def refuse_row_numbers(original: Dataset, release: Dataset, name: str) -> None:
    """Refuse row numbers as ids unless the records agree: an index may have been rewritten."""
    if original.dimension == release.dimension and lie_nearer(original.x, release.x):
        return
    raise UserError(
        f"column '{name}' only numbers the rows of {original.name} and of {release.name}, and"
        " records lie no nearer to the originals with the same number than to others: were the rows"
        " shuffled and renumbered? Name a real id (--id), or vouch for the order (--same-order)"
    )


def refuse_numbered_files(original: Dataset, release: Dataset) -> None:
    """Refuse `same_order` for our own releases of files, which are numbered at random."""
    if FILE not in release.table.column_names or FILE not in original.table.column_names:
        return
    ours = re.compile(r"\d{8}")
    names = release.table[FILE].to_pylist()
    numbered = all(n is not None and ours.fullmatch(n) for n in names)
    if numbered and set(names) != set(original.table[FILE].to_pylist()):
        raise UserError(
            f"the files of {release.name} are numbered, and `withhold transform` numbers files at"
            " random, so their order says nothing: extract them with --names RELEASE.names.csv and"
            " leave out --same-order"
        )


def check_common(original: Dataset, release: Dataset, matched_by: str | None) -> bool:
    """Check that common columns agree: otherwise these are other records, or in another order.

    Return whether there was a column to compare that is not constant.
    """
    told = False
    for name in common_columns(original, release):
        if name in (matched_by, SPLIT) or not must_agree(original, release, name):
            continue
        one, two = as_text(original, name), as_text(release, name)
        differ = np.asarray(
            pc.fill_null(pc.not_equal(one, two), False).to_numpy(zero_copy_only=False)
        )
        if not differ.any():
            told = told or pc.count_distinct(one).as_py() > 1
            continue
        row = int(np.argmax(differ))
        shuffled = sorted(map(str, one.to_pylist())) == sorted(map(str, two.to_pylist()))
        way = (
            "the rows are in another order, and no column identifies records; give both files an id"
            " column (--id)"
            if shuffled and matched_by is None
            else f"leave column '{name}' out of one of the files, if it was changed on purpose"
        )
        raise UserError(
            f"record {row} (the first is 0) has {name} '{one[row].as_py()}' in {original.name} and"
            f" '{two[row].as_py()}' in {release.name}: {way}"
        )
    return told


def common_columns(original: Dataset, release: Dataset) -> list[str]:
    """The columns in both files."""
    theirs = set(release.table.column_names)
    return [c for c in original.table.column_names if c in theirs and c != RECORD]


def must_agree(original: Dataset, release: Dataset, name: str) -> bool:
    """Whether a column must be the same in both. Measurements may have been rounded; lists and
    media are not compared."""
    return not any(
        pa.types.is_nested(kind)
        or is_bytes(kind)
        or (pa.types.is_floating(kind) and data is original)
        for data in (original, release)
        for kind in [data.table[name].type]
    )


def lie_nearer(original: npt.NDArray[np.float32], release: npt.NDArray[np.float32]) -> bool:
    """Whether records lie nearer to their own originals than to others. True if all released
    records are equal, since the pairing does not matter then."""
    rows = np.random.default_rng(0).permutation(len(original))[:2000]
    one, two = original[rows].astype(np.float64), release[rows].astype(np.float64)
    if not np.ptp(two, axis=0).any():
        return True
    scale = np.maximum(one.std(axis=0), 1e-12)
    own = np.median(np.abs(one - two) / scale, axis=1)
    others = np.median(np.abs(one - np.roll(two, 1, axis=0)) / scale, axis=1)
    # By chance half of them do; require four standard deviations more.
    return bool((own < others).mean() > 0.5 + 2 / np.sqrt(len(rows)))


def are_exchanged(original: npt.NDArray[np.float32], release: npt.NDArray[np.float32]) -> bool:
    """Whether many released records equal the original of another record, and not their own.

    Equal originals do not count, and neither do released records that occur twice: codes may be
    records of somebody.
    """
    most = 200_000
    place: dict[bytes, int] = {}
    for row, values in enumerate(original[:most]):
        key = values.tobytes()
        place[key] = -1 if key in place else row
    shown = np.random.default_rng(0).permutation(min(len(release), most))[:4000]
    found: dict[int, int] = {}
    for row in shown:
        where = place.get(release[row].tobytes(), -1)
        if where >= 0 and where != row:
            found[where] = found.get(where, 0) + 1
    once = sum(count == 1 for count in found.values())
    return bool(once > max(0.05 * len(shown), 3))


def as_text(data: Dataset, name: str) -> pa.Array:
    """A column as text, independent of its type in the file."""
    column = data.table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_bytes(column.type):
        return pa.array([None if v is None else v.hex() for v in column.to_pylist()])
    return column.cast(pa.string())
