"""A record among the other records of its person, and a person as all of its records.

People have different numbers of records here, so nothing is drawn: every record counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.column_codes import ColumnCodes
from withhold.records.record_sets import Rows

FloatArray = npt.NDArray[np.float32]
_RANKED = 64  # numbers that are also ranked within the person


def describe_among_own(v: FloatArray, people: Rows, columns: ColumnCodes | None) -> FloatArray:
    """Features (n, f) of records v (n, d), each relative to the other records of its person.

    v itself; v less the mean of the person's other records; its rank among them (the last numbers
    of v, up to 64, and every column); of every column, pair and triple of columns the share of
    the others that have the same value; and the logarithm of the number of records.
    """
    member, records = _members(people)
    others = np.maximum(records[member] - 1, 1)[:, None]
    mean = (_sums(v, member, len(records))[member] - v) / others
    alone = (records[member] == 1)[:, None]
    told = [v, np.where(alone, 0.0, v - mean), np.log(records[member])[:, None]]
    ranked = v[:, -_RANKED:]
    if columns is not None:
        ranked = np.concatenate([ranked, columns.ranks], axis=1)
        values = np.concatenate([columns.codes, columns.joint()], axis=1)
        told.append((_times(values, member) - 1) / others)
    told.append(_ranks_within(ranked, member) / others)
    return np.concatenate(told, axis=1).astype(np.float32)


def describe_people(v: FloatArray, people: Rows, columns: ColumnCodes | None) -> FloatArray:
    """Features (p, f) of people, in the order of their numbers, from all their records v (n, d).

    Mean and standard deviation of v; of every column, pair and triple of columns the share of
    distinct values and of equal pairs of records.
    """
    member, records = _members(people)
    number, wide = len(records), records[:, None]
    mean = _sums(v, member, number) / wide
    spread = np.sqrt(_sums(np.square(v - mean[member]), member, number) / wide)
    told = [mean, spread]
    if columns is not None:
        times = _times(np.concatenate([columns.codes, columns.joint()], axis=1), member)
        told.append(_sums(1 / times, member, number) / wide)
        told.append(_sums(times - 1, member, number) / np.maximum(wide * (wide - 1), 1))
    return np.concatenate(told, axis=1).astype(np.float32)


def _members(people: Rows) -> tuple[Rows, Rows]:
    """The place of each record's person among all people, and how many records each has."""
    _, member, records = np.unique(people, return_inverse=True, return_counts=True)
    return member.reshape(-1), records


def _sums(v: npt.NDArray[np.floating], member: Rows, number: int) -> npt.NDArray[np.float64]:
    """The sums (p, d) of v (n, d) over the records of each person."""
    columns = [np.bincount(member, weights=v[:, i], minlength=number) for i in range(v.shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros((number, 0))


def _times(values: Rows, member: Rows) -> npt.NDArray[np.float64]:
    """How many records of the same person have each value, (n, m), the record itself included."""
    out = np.empty(values.shape)
    for i in range(values.shape[1]):
        code = np.unique(values[:, i], return_inverse=True)[1].reshape(-1)
        pair = member * (int(code.max(initial=0)) + 1) + code
        _, place, times = np.unique(pair, return_inverse=True, return_counts=True)
        out[:, i] = times[place.reshape(-1)]
    return out


def _ranks_within(v: FloatArray, member: Rows) -> npt.NDArray[np.float64]:
    """How many other records of the person are below each of v (n, d); ties count half."""
    out = np.empty(v.shape)
    first = np.concatenate([[0], np.cumsum(np.bincount(member))])[member]
    for i in range(v.shape[1]):
        order = np.lexsort((v[:, i], member))
        who, what = member[order], v[order, i]
        new = np.ones(len(order), bool)
        new[1:] = (who[1:] != who[:-1]) | (what[1:] != what[:-1])
        run = np.cumsum(new) - 1
        start = np.flatnonzero(new)
        size = np.diff(np.append(start, len(order)))
        out[order, i] = start[run] + (size[run] - 1) / 2
    return np.asarray(out - first[:, None])
