"""Rows that are copies of each other: how many people they count as, if nothing names people.

A value of a table leaves if `least` people hold it. Where no column names people, every row counts
as a person. But a file may hold one person many times. Exact copies of a row are believed to be
different people only as far as other rows show that people are so much alike: m equal rows count as

    min(m, 1 + 2 (sum over columns c of near_c - max over columns c of near_c))

people, where near_c is the number of rows that differ from them in column c alone. In a table of
few coarse columns, many rows are near each other, and each row counts. In a table that tells people
apart, hardly any row is near, and copies count once. The largest near_c is left out, since rows
that differ in c alone do not share the value of c: a value that only copies of one row have must
not leave because common rows are near them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.plain import plain_column
from withhold.records.tabular.vector_features import is_vectors, vectors

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PeopleInRows:
    """person (n,): rows with the same number count as one person.

    joined: how many rows do not count, because they are copies of a row that counts as fewer than
    `least` people; largest: the most copies of such a row.
    """

    person: Ints
    joined: int
    largest: int


def people_in_rows(table: pa.Table, columns: Sequence[str], *, least: int) -> PeopleInRows:
    """Who the rows are, as far as these columns show."""
    n = table.num_rows
    whole = np.zeros(n, np.uint64)
    for name in columns:
        whole += _words(table, name)  # modulo 2^64
    _, first, row, count = np.unique(
        whole, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) == n:
        return PeopleInRows(np.arange(n), 0, 0)
    row = row.reshape(-1)
    near, most = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
    for name in columns:
        rest = (whole - _words(table, name))[first]  # the rows without this column
        place = np.unique(rest, return_inverse=True)[1].reshape(-1)
        alike = np.bincount(place, count).astype(np.int64)[place] - count
        near += alike
        most = np.maximum(most, alike)
    people = np.minimum(count, 1 + 2 * (near - most))
    # The k-th copy of a row is person k modulo the number of people.
    order = np.argsort(row, kind="stable")
    kth = np.empty(n, np.int64)
    kth[order] = np.arange(n) - np.repeat(np.cumsum(count) - count, count)
    person = (np.cumsum(people) - people)[row] + kth % people[row]
    few = (people < least) & (people < count)
    joined = int((count - people)[few].sum())
    return PeopleInRows(person, joined, int(count[few].max(initial=0)))


def _words(table: pa.Table, name: str) -> Words:
    """A random word for each value of a column, (n,), so that sums of words tell rows apart."""
    rng = np.random.default_rng([*name.encode(), len(name)])
    if is_vectors(table[name].type):
        whole = np.nan_to_num(vectors(table[name]).astype(np.float64), nan=7.0)
        return (whole @ rng.normal(size=whole.shape[1])).view(np.uint64)
    column = plain_column(table[name], one_missing=True)
    if pa.types.is_nested(column.type):
        column = pa.chunked_array([pa.array([repr(v) for v in column.to_pylist()])])
    pieces = column.dictionary_encode().unify_dictionaries().chunks
    codes = [p.indices.fill_null(-1).to_numpy(zero_copy_only=False) for p in pieces]
    values = len(pieces[0].dictionary) if pieces else 0
    words = rng.integers(0, 2**64, values + 1, dtype=np.uint64)
    return words[np.concatenate(codes)] if codes else words[:0]  # missing: the last word
