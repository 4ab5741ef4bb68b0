"""Whether receivers of a release may tell whose a row is: by order, by columns, or by likeness."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from withhold.audit.findings import Copies
from withhold.audit.pairing import PairedRelease
from withhold.audit.pairing_evidence import as_text
from withhold.records.arrow_kinds import is_number
from withhold.records.columns.told_apart import told_apart
from withhold.records.dataset import Dataset
from withhold.records.splits import SPLIT
from withhold.records.table_features import AS_RELEASED
from withhold.records.tables import RECORD
from withhold.release.policy import LINKING

_LIKE = 0.5  # share of the rows whose nearest original is their own, from which rows can be matched


def linked_by(
    matched: PairedRelease, same: Mapping[str, Copies], *, order_counts: bool
) -> str | None:
    """How someone who knows the originals may tell whose a row is; None if nothing shows it.

    By the order, if rows are in that of the original. By a column of the release that is equal to
    the group column of the original: it names people. By columns of the release that are equal to
    columns of the original (kept, or preserved), if they tell enough rows from all others. By
    likeness, if most rows lie nearest to their own original (`same`).
    """
    if order_counts and np.array_equal(matched.place, np.arange(len(matched.place))):
        return "the order of the rows"
    group = matched.original.group
    for name in () if group is None else matched.release.table.column_names:
        if name not in (RECORD, SPLIT) and _equal(matched, str(group), name):
            return f"column '{name.removesuffix(AS_RELEASED)}'"
    kept = [name for name in matched.release.table.column_names if _kept(matched, name)]
    if told_apart(matched.release.table, kept) > LINKING:
        return ", ".join(f"column '{name.removesuffix(AS_RELEASED)}'" for name in kept)
    if any(one.reidentified > _LIKE for one in same.values()):
        return "likeness: most rows lie nearest to their own original"
    return None


def _kept(matched: PairedRelease, name: str) -> bool:
    """Whether a column left as it was: every row has the value of its original."""
    own = name.removesuffix(AS_RELEASED)  # the audit renames columns that it also encodes
    both = matched.original.table.column_names
    return name not in (RECORD, SPLIT) and own in both and _equal(matched, own, name)


def _equal(matched: PairedRelease, own: str, name: str) -> bool:
    """Whether column `name` of the release has the values of column `own` of the original."""
    if own not in matched.original.table.column_names:
        return False
    one, two = _plain(matched.original, own), _plain(matched.release, name)
    if one.type != two.type:
        return False
    same = pc.fill_null(pc.equal(one, two), False)
    missing = pc.and_(pc.is_null(one), pc.is_null(two))
    return bool(pc.all(pc.or_(same, missing)).as_py())


def _plain(data: Dataset, name: str) -> pa.Array:
    """Numbers as float64, since a CSV writes 2.0 as 2; lists by their text; the rest as text."""
    column = data.table[name].combine_chunks()
    if is_number(column.type):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_nested(column.type):
        return pa.array([repr(v) for v in column.to_pylist()], pa.string())
    return as_text(data, name)
